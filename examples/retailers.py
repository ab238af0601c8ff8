"""Six retailers as a program: reads {"x": wholesale prices}, answers {"y": orders}, line by line.

It could be written in any language and run anywhere; bizol sees the lines alone. Each retailer
orders what earns it the most, at most what its shelf holds: q = argmax (a − b q − w) q over
0 ≤ q ≤ shelf.
"""

import json
import sys
import time

WILLINGNESS = [9.0, 8.0, 7.5, 7.0, 6.0, 5.0]  # a: what the first customer would pay
SLOPE = [0.5, 0.4, 1.0, 0.5, 0.3, 0.4]  # b: how fast that falls with the quantity sold
SHELF = [3.5, 4.0, 2.0, 3.0, 4.0, 2.0]

if __name__ == "__main__":
    for line in sys.stdin:
        prices = json.loads(line)["x"]
        time.sleep(0.002)  # a real one would take longer
        orders = [
            min(max((a - w) / (2 * b), 0.0), shelf)
            for a, b, shelf, w in zip(WILLINGNESS, SLOPE, SHELF, prices, strict=True)
        ]
        print(json.dumps({"y": orders}), flush=True)
