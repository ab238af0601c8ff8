"""A follower as a program: JSON lines in and out, on standard input and output; its argument says
how it behaves."""

import json
import sys
import time


def main(how: str) -> None:
    """Answer until there are no more questions."""
    for line in sys.stdin:
        question = json.loads(line)
        print(f"asked with seed {question['seed']}", file=sys.stderr, flush=True)
        if how == "dies" and question["x"][0] > 0.9:
            print("no fuel", file=sys.stderr)
            sys.exit(4)
        if how == "hangs" and question["x"][0] > 0.9:
            time.sleep(600)
        if how == "complains" and question["x"][0] > 0.9:
            print(json.dumps({"error": "out of range"}), flush=True)
        elif how == "babbles":
            print("hello", flush=True)
        elif how == "chats":
            print(json.dumps([1.0]), flush=True)
        elif how == "once":
            print("a first line, which is not the answer\n")
            print(json.dumps({"y": [min(max(2 * v + 0.25, -1.0), 1.0) for v in question["x"]]}))
        else:
            print(
                json.dumps({"y": [min(max(2 * v + 0.25, -1.0), 1.0) for v in question["x"]]}),
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "well")
