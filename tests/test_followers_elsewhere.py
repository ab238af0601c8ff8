"""Followers that are programs or services: real processes and a real server."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bizol
from bizol import BiZOL, Journal, Retries, Status
from bizol.followers import Command, Http
from tests.misbehaving import saturate
from tests.problems import saturated
from tests.processes import alive, gone

PROGRAM = [sys.executable, str(Path(__file__).parent / "programs.py")]
METHOD = BiZOL(delta=0.1, step=0.1, batch=3)
X, FAR = np.array([0.1, 0.2, 0.3]), np.array([1.0, 0.2, 0.3])


def plain() -> bizol.Solution:
    return bizol.minimize(saturated(), method=METHOD, budget=40, seed=0)


# --- programs


@pytest.mark.parametrize("workers", [None, 3])
@pytest.mark.parametrize("once", [False, True])
def test_a_program_answers_as_a_function_would(
    once: bool, workers: int | None, tmp_path: Path
) -> None:
    follower = Command([*PROGRAM, "once" if once else "well"], once=once)
    solution = bizol.minimize(
        saturated(response=follower),
        method=METHOD,
        budget=40,
        seed=0,
        workers=workers,
        journal=tmp_path / "run.bizol",
    )
    assert np.array_equal(solution.last.x, plain().last.x)
    answers = [event for event in Journal(tmp_path / "run.bizol").events() if event.kind == "ok"]
    assert [event.info.strip() for event in answers] == [
        f"asked with seed {event.seed}" for event in answers
    ]


def test_one_process_is_kept_for_a_thread_and_ended_with_the_run() -> None:
    follower = Command([sys.executable, "-c", KEEPER])
    assert follower(X) == follower(X)
    process = int(follower(X)[0])
    follower.close()
    assert not alive(process)
    assert follower(X)[0] != process
    follower.close()


KEEPER = """
import json, os, sys
for line in sys.stdin: print(json.dumps({"y": [os.getpid()]}), flush=True)
"""


@pytest.mark.parametrize(
    ("how", "once", "error", "message"),
    [
        (
            "dies",
            False,
            ChildProcessError,
            "the program ended without an answer: exit code 4: .*no fuel",
        ),
        ("dies", True, ChildProcessError, "the program ended without an answer: exit code 4"),
        ("hangs", False, TimeoutError, "no answer within 1 seconds"),
        ("complains", False, RuntimeError, "out of range"),
        ("babbles", False, ValueError, "the answer is not JSON: 'hello'"),
        ("chats", False, ValueError, r'the answer must be \{"y": \[\.\.\.\]\}'),
    ],
)
def test_a_program_that_misbehaves_is_understood(
    how: str, once: bool, error: Any, message: str
) -> None:
    follower = Command([*PROGRAM, how], once=once, timeout=1.0)
    with pytest.raises(error, match=f"(?s){message}"):
        follower(FAR)
    assert "asked with seed None" in follower.remarks()
    if how in ("dies", "hangs", "complains"):
        assert np.array_equal(follower(X), saturate(X))  # another process takes over
    follower.close()


def test_the_death_of_a_program_is_a_death_in_the_journal_too(tmp_path: Path) -> None:
    problem = saturated(response=Command([*PROGRAM, "dies"]), objective=_toward_far())
    solution = bizol.minimize(
        problem,
        FAR,
        method=METHOD,
        budget=40,
        retries=Retries(wait=0),
        journal=tmp_path / "run.bizol",
    )
    failed = [event for event in Journal(tmp_path / "run.bizol").events() if event.kind == "fail"]
    assert solution.status in (Status.UNANSWERED, Status.FAILING)
    assert all(event.info.startswith("died: ") and "no fuel" in event.info for event in failed)


def _toward_far() -> bizol.Objective:
    return bizol.Objective(
        lambda x, y: -x[0], lambda x, y: np.array([-1.0, 0, 0]), lambda x, y: 0 * y
    )


def test_a_program_ends_with_the_process_that_asks_it(tmp_path: Path) -> None:
    script = f"""
import os, numpy as np
from bizol.followers import Command
print(int(Command([{sys.executable!r}, "-c", {KEEPER!r}])(np.zeros(1))[0]), flush=True)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    gone(int(done.stdout))


def test_a_command_is_not_a_line_for_a_shell(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with pytest.raises((ChildProcessError, ValueError)):
        Command(["cat", ";", "touch", str(mark)], once=True)(X)
    assert not mark.exists()
    with pytest.raises(
        ValueError, match=r"must be a program and its arguments, as a list, got 'cat x'"
    ):
        Command("cat x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"Command\(timeout=\.\.\.\) must be"):
        Command(["cat"], timeout=0)
    with pytest.raises(FileNotFoundError, match="there is no program 'no-such-thing'"):
        Command(["no-such-thing"])(X)


def test_a_program_beside_the_run_file_is_found(tmp_path: Path) -> None:
    program = tmp_path / "simulator"
    program.write_text(
        f"#!{sys.executable}\nimport json\nprint(json.dumps({{'y': json.loads(input())['x']}}))\n"
    )
    program.chmod(0o755)
    assert Command(["./simulator"], once=True, folder=str(tmp_path))(X) == X.tolist()


# --- services


class Service(BaseHTTPRequestHandler):
    """Answers as it should, but for what the path says."""

    seen: list[Any] = []  # noqa: RUF012 (the requests of one test)

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append((self.path, self.headers.get("Authorization"), question))
        times = sum(path == self.path for path, _, _ in self.seen)
        if self.path == "/flaky" and times % 3 == 2:
            self._say(503, b"busy")
        elif self.path == "/forbidden":
            self._say(403, f"no: {self.headers.get('Authorization')}".encode())
        elif self.path == "/elsewhere":
            self.send_response(302)
            self.send_header("Location", "/well")
            self.end_headers()
        elif self.path == "/slow":
            time.sleep(1.0)
        elif self.path == "/junk":
            self._say(200, b"<html>")
        else:
            answer = saturate(np.array(question["x"])).tolist()
            self._say(200, json.dumps({"y": answer}).encode())

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def service() -> Iterator[str]:
    Service.seen.clear()
    with HTTPServer(("127.0.0.1", 0), Service) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_service_answers_as_a_function_would(service: str) -> None:
    solution = bizol.minimize(
        saturated(response=Http(f"{service}/well")), method=METHOD, budget=40, seed=0
    )
    assert np.array_equal(solution.last.x, plain().last.x)


def test_only_trouble_on_the_way_and_of_the_server_is_asked_again(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: Any = {"method": METHOD, "budget": 40, "seed": 0, "retries": Retries(wait=0)}
    flaky = bizol.minimize(saturated(response=Http(f"{service}/flaky")), **options)
    assert flaky.unanswered == 0
    assert np.array_equal(flaky.history.value, plain().history.value[: len(flaky.history)])
    assert len(Service.seen) == flaky.queries
    Service.seen.clear()
    monkeypatch.setenv("TOKEN", "very secret")
    path = tmp_path / "run.bizol"
    refused = bizol.minimize(
        saturated(response=Http(f"{service}/forbidden", token="TOKEN")), journal=path, **options
    )
    assert refused.status is Status.FAILING
    assert "status 403: no: Bearer ***" in refused.message
    assert len(Service.seen) == 5  # five different queries, none of them twice
    assert all(token == "Bearer very secret" for _, token, _ in Service.seen)
    assert b"very secret" not in path.read_bytes()


def test_a_service_that_misbehaves_is_understood(
    service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TimeoutError, match=r"no answer within 0\.2 seconds"):
        Http(f"{service}/slow", timeout=0.2)(X)
    with pytest.raises(ValueError, match="the answer is not JSON: '<html>'"):
        Http(f"{service}/junk")(X)
    with pytest.raises(PermissionError, match="status 302"):
        Http(f"{service}/elsewhere")(X)
    assert not any(path == "/well" for path, _, _ in Service.seen)
    monkeypatch.delenv("TOKEN", raising=False)
    with pytest.raises(PermissionError, match=r"variable TOKEN of Http\(token=\.\.\.\) is not set"):
        Http(f"{service}/well", token="TOKEN")(X)


def test_nobody_there_is_a_connection_that_failed() -> None:
    with pytest.raises(ConnectionError, match="refused"):
        Http("http://127.0.0.1:9/", timeout=2.0)(X)


def test_a_certificate_nobody_vouches_for_is_refused() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).parent / "data" / "self-signed.pem")
    with HTTPServer(("127.0.0.1", 0), Service) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with pytest.raises(ConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
            Http(f"https://localhost:{server.server_port}/well", timeout=5.0)(X)
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"url": "file:///etc/passwd"}, "must be an http or https address"),
        ({"url": "https://me:secret@example.org"}, "must not hold a password"),
        ({"url": "http://example.org", "token": "TOKEN"}, "is sent by https only"),
        ({"url": "http://example.org", "timeout": 0}, r"Http\(timeout=\.\.\.\) must be"),
    ],
)
def test_addresses_that_cannot_be_right(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Http(**arguments)


def test_nothing_is_left_open() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        Command([*PROGRAM, "once"], once=True)(X)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 1
