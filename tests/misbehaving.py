"""Followers that do what followers should not, and followers that keep count; in a module, so that
they travel."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tests.problems import Array


class UntransportableError(Exception):
    """An exception that cannot be unpickled: its constructor needs what is not in its arguments."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first)
        self.second = second


def saturate(x: Array) -> Array:
    """What a follower should do: the response of `tests.problems.saturated`."""
    return np.clip(2 * x + 0.25, -1.0, 1.0)


@dataclass(frozen=True)
class Misbehaving:
    """Answers as it should, but for decisions whose first entry is above 0.9; the second says which
    way then."""

    ways: tuple[str, ...]

    def __call__(self, x: Array) -> Any:
        """Answer, or do worse."""
        if x[0] <= 0.9:
            return saturate(x)
        how = self.ways[round(10 * x[1])]
        if how == "ValueError":
            raise ValueError("no such market")
        if how == "unpicklable":
            raise UntransportableError("one", "two")
        if how == "junk":
            return lambda: None
        if how == "infinite":
            return np.full(3, np.nan)
        if how == "shape":
            return np.zeros(7)
        if how == "sys.exit":
            sys.exit(3)
        if how == "os._exit":
            os._exit(3)
        if how == "segfault":
            ctypes.string_at(0)
        time.sleep(600)  # hang
        raise AssertionError


@dataclass(frozen=True)
class Logging:
    """Answers as it should and writes a line about every execution: its process and the
    decision."""

    log: Path
    seconds: float = 0.0
    slow_from: float = np.inf  # decisions whose first entry is larger take a minute, the first time

    def __call__(self, x: Array) -> Array:
        line = f"{os.getpid()} {os.getppid()} {x.tobytes().hex()}\n"
        before = self.log.read_text() if self.log.exists() else ""
        with self.log.open("a") as file:
            file.write(line)
        time.sleep(
            60 if x[0] > self.slow_from and x.tobytes().hex() not in before else self.seconds
        )
        return saturate(x)


@dataclass(frozen=True)
class Unreliable:
    """Fails by chance, as a function of the seed it is given, in several ways; its noise is a
    function of it too."""

    takes_seed: ClassVar[bool] = True

    rate: float
    noise: float = 0.0
    ways: tuple[str, ...] = ("error", "infinite")
    seconds: float = 0.0
    log: Path | None = None

    def __call__(self, x: Array, seed: int) -> Array:
        if self.log is not None:
            with self.log.open("a") as file:
                file.write(f"{x.tobytes().hex()} {seed}\n")
        time.sleep(self.seconds)
        # The sides of a pair have the same seed, so the decision takes part in chance.
        rng = np.random.default_rng([seed, *x.view(np.uint64).tolist()])
        if rng.random() < self.rate:
            way = self.ways[int(rng.integers(len(self.ways)))]
            if way == "error":
                raise RuntimeError("bad luck")
            if way == "os._exit":
                os._exit(7)
            return np.full(x.size, np.nan)
        return saturate(x) + self.noise * np.random.default_rng(seed).standard_normal(x.size)
