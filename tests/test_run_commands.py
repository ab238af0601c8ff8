"""run, resume, ask, tell, show, export: as a person would use them, with a run file and with an
import path."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pandas
import pytest
from typer.testing import CliRunner

import bizol
from bizol import Journal
from bizol.command_line import journal_files
from bizol.command_line.app import app
from bizol.command_line.run import engine_named
from bizol.command_line.run_file import load
from bizol.evaluation.journal import summarize
from tests.misbehaving import saturate
from tests.problems import saturated
from tests.processes import until

METHOD = bizol.BiZOL(delta=0.1, step=0.1, batch=3)


def run(*arguments: object) -> tuple[int, str]:
    """Return the exit code and what was printed, without frames and line breaks."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, " ".join(re.findall(r"[^\s│╭╮╰╯─┃┏┓┗┛━]+", result.output))


def write(folder: Path, text: str) -> Path:
    path = folder / "problem.toml"
    path.write_text(text)
    return path


def answered(journal: Path) -> int:
    """How many answers are in a journal that may not be there yet."""
    try:
        return summarize(Journal(journal)).answered
    except bizol.JournalError:
        return 0


def plain(budget: int = 40) -> bizol.Solution:
    return bizol.minimize(saturated(), method=METHOD, budget=budget, seed=0)


FOLLOWER = '[follower]\nimport = "tests.misbehaving:saturate"\n'
BODY = """
[objective]
import = "tests.test_run_commands:OBJECTIVE"

[set]
kind = "Box"
lower = [-1, -1, -1]
upper = [1, 1, 1]

[method]
kind = "BiZOL"
delta = 0.1
step = 0.1
batch = 3

[run]
budget = 40
seed = 0
"""
OBJECTIVE = saturated().objective
PROBLEM = saturated(response=saturate)


FLIPPED = bizol.Objective(OBJECTIVE.value, OBJECTIVE.grad_x, lambda x, y: -OBJECTIVE.grad_y(x, y))


def make_problem() -> bizol.Problem:
    return PROBLEM


# --- run and resume


def test_a_run_file_is_run_and_gives_the_same_bits_as_python(tmp_path: Path) -> None:
    journal = tmp_path / "run.bizol"
    code, output = run("run", write(tmp_path, FOLLOWER + BODY), "--journal", journal)
    assert code == 0
    assert f"value: {plain().value:.8g}" in output
    assert f"journal: {journal}".split()[0] in output
    answers = [np.frombuffer(event.y) for event in Journal(journal).events() if event.kind == "ok"]
    assert len(answers) == plain().queries


def test_a_wrong_gradient_is_refused_and_a_run_file_may_forbid_to_look(tmp_path: Path) -> None:
    body = BODY.replace("OBJECTIVE", "FLIPPED")
    code, output = run("run", write(tmp_path, FOLLOWER + body))
    assert code != 0
    assert "Objective(grad_y=...) is off in coordinate" in output
    code, output = run("run", write(tmp_path, FOLLOWER + body + "check = false\n"))
    assert code == 0


def test_a_problem_is_imported_and_a_run_is_resumed_with_more_budget(tmp_path: Path) -> None:
    journal = tmp_path / "run.bizol"
    for source in ("tests.test_run_commands:PROBLEM", "tests.test_run_commands:make_problem"):
        code, output = run("run", source, "--budget", 10, "--seed", 0, "--journal", journal)
        assert (code, "10 in" in output) == (0, True)
    code, output = run("resume", journal, "tests.test_run_commands:PROBLEM", "--budget", 20)
    assert (code, "20 in" in output) == (0, True)
    code, output = run("resume", journal, "tests.test_run_commands:PROBLEM")
    assert (code, "20 in" in output) == (0, True)
    assert summarize(Journal(journal)).answered == 20


@pytest.mark.parametrize(
    "options",
    [
        ("--engine", "threads:3"),
        ("--engine", "processes:2", "--workers", 1),
        ("--isolate", "--engine", "threads:2"),
        ("--timeout", 30),
    ],
)
def test_every_engine_of_the_command_line_gives_the_same(tmp_path: Path, options: Any) -> None:
    code, output = run("run", write(tmp_path, FOLLOWER + BODY), *options)
    assert code == 0
    assert f"value: {plain().value:.8g}" in output


def test_a_dask_cluster_is_an_engine_by_its_address(tmp_path: Path) -> None:
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, dashboard_address=":0"
    ) as cluster:
        code, output = run(
            "run", write(tmp_path, FOLLOWER + BODY), "--engine", f"dask:{cluster.scheduler_address}"
        )
    assert code == 0
    assert f"value: {plain().value:.8g}" in output


def test_a_command_may_answer(tmp_path: Path) -> None:
    program = f"{sys.executable} {Path(__file__).parent / 'programs.py'}"
    code, output = run("run", write(tmp_path, BODY), "--response", program)
    assert (code, f"value: {plain().value:.8g}" in output) == (0, True)
    text = f'[follower]\ncommand = "{program} once"\nonce = true\ntimeout = 20\n' + BODY
    code, output = run("run", write(tmp_path, text))
    assert (code, f"value: {plain().value:.8g}" in output) == (0, True)
    text = f"[follower]\ncommand = {json.dumps([*program.split(), 'dies'])}\n" + BODY.replace(
        "seed = 0", "x0 = [1, 1, 1]"
    )
    code, output = run("run", write(tmp_path, text))
    assert (code, "no fuel" in output) == (1, True)


def test_ctrl_c_waits_for_what_is_under_way_and_exits_with_130(tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text(
        "import bizol, time\n"
        "phi = bizol.Objective(lambda x, y: y @ y, lambda x, y: 0 * x, lambda x, y: 2 * y)\n"
        "def respond(x):\n    time.sleep(0.3)\n    return x.clip(-0.5, 0.5)\n"
    )
    body = BODY.replace("tests.test_run_commands:OBJECTIVE", "slow:phi")
    path = write(tmp_path, '[follower]\nimport = "slow:respond"\n' + body)
    journal = tmp_path / "run.bizol"
    command: list[str | Path] = [Path(sys.executable).with_name("bizol"), "run", path]
    command += ["--journal", journal, "--engine", "threads:2"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        until(lambda: answered(journal) >= 3)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Finishing what is under way" in errors
    assert "Interrupted" in output
    assert Journal(journal).pending() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "nowhere:PROBLEM", "--budget", 10), "'nowhere:PROBLEM' cannot be imported"),
        (("run", "tests.test_run_commands:nothing", "--budget", 10), "cannot be imported"),
        (
            ("run", "tests.test_run_commands:METHOD", "--budget", 10),
            "must be a bizol.Problem or a function",
        ),
        (("run", "PROBLEM", "--budget", 10), "must be an import path, module:name"),
        (("run", "tests.test_run_commands:PROBLEM"), "A budget is needed"),
        (
            ("run", "tests.test_run_commands:PROBLEM", "--budget", 9, "--engine", "threads"),
            "must say how many",
        ),
        (
            ("run", "tests.test_run_commands:PROBLEM", "--budget", 9, "--engine", "steam:3"),
            "must be threads:8, ",
        ),
        (("run", "nowhere.toml"), "cannot be read: No such file"),
        (("resume", "nowhere.bizol", "tests.test_run_commands:PROBLEM"), "There is no journal"),
        (("show", "nowhere.bizol"), "There is no journal"),
        (("ask", "nowhere.bizol"), "There is no journal"),
    ],
)
def test_mistakes_are_messages(arguments: Any, message: str) -> None:
    code, output = run(*arguments)
    assert code == 2
    assert message in output


def test_dask_that_is_not_installed_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(ValueError, match=r"pip install 'bizol\[dask\]'"),
        engine_named("dask:tcp://x:1", None),
    ):
        pass


# --- run files point at the line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[objective\n", r"problem\.toml: .*line 1"),
        (BODY, r"the table \[follower\] is missing"),
        (FOLLOWER + BODY + "[extra]\n", r"line 21: extra: there is no such table"),
        (
            FOLLOWER + BODY.replace("budget", "budgets"),
            r"line 19: run\.budgets: there is no such key; there are budget",
        ),
        (
            FOLLOWER + BODY.replace("budget = 40", 'budget = "much"'),
            r"line 19: run\.budget: it must be of type int",
        ),
        (
            FOLLOWER + BODY.replace("step = 0.1", "step = 7"),
            r"line 15: method\.step: BiZOL\(step=\.\.\.\) must be in",
        ),
        (
            FOLLOWER + BODY.replace("step = 0.1", "stop = 7"),
            r"line 15: method\.stop: BiZOL has no such parameter",
        ),
        (
            FOLLOWER + BODY.replace('"BiZOL"', '"Newton"'),
            r"line 13: method\.kind: it must be one of BiZOL.*got 'Newton'",
        ),
        (
            FOLLOWER + BODY.replace('"Box"', '"FeasibleSet"'),
            r"line 8: set\.kind: it must be one of Ball",
        ),
        (
            FOLLOWER + BODY.replace("lower = [-1, -1, -1]", "lower = [2, 2, 2]"),
            r"line 9: set\.lower: Box",
        ),
        (FOLLOWER + BODY + 'x0 = "here"\n', r"line 21: run\.x0: it must be of type list"),
        (
            FOLLOWER.replace("saturate", "nothing") + BODY,
            r"line 2: follower\.import: 'tests\.misbehaving:nothing' cannot",
        ),
        (
            "[follower]\n" + BODY,
            r"line 1: follower: it needs one of import, command, url and outside",
        ),
        ("[follower]\noutside = true\nurl = 'x'\n" + BODY, r"line 1: follower: it needs one of"),
        ("[follower]\nurl = 'x'\n" + BODY, r"line 2: follower\.url: Http\(url=\.\.\.\) must be"),
        (
            "[follower]\noutside = true\nonce = true\n" + BODY,
            r"line 3: follower\.once: there is no such key",
        ),
        (
            FOLLOWER + BODY.replace("OBJECTIVE", "METHOD"),
            r"line 5: objective\.import: it must be a bizol\.Objective",
        ),
        (
            FOLLOWER + re.sub("import = .*OBJECTIVE.*", 'value = "math:sin"', BODY),
            r"line 4: objective: .*grad_x is missing",
        ),
        (
            FOLLOWER + BODY.replace("batch = 3", 'directions = "Up"\nbatch = 3'),
            r"line 16: method\.directions: it must be one of Sphere, .*, got 'Up'",
        ),
    ],
)
def test_a_mistake_in_a_run_file_is_shown_with_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        load(str(write(tmp_path, text)))


def test_a_run_file_takes_sets_within_sets_and_functions_one_by_one(tmp_path: Path) -> None:
    text = """
[objective]
value = "tests.test_run_commands:OBJECTIVE.value"
grad_x = "tests.test_run_commands:OBJECTIVE.grad_x"
grad_y = "tests.test_run_commands:OBJECTIVE.grad_y"
[follower]
url = "http://localhost:1/"
timeout = 3
[set]
kind = "Product"
factors = [{ kind = "Simplex", dimension = 2 }, { kind = "Box", lower = [0], upper = [1] }]
[method]
kind = "MemoryBiZOL"
delta = 0.1
directions = "Rademacher"
"""
    loaded = load(str(write(tmp_path, text)))
    assert loaded.problem.feasible_set.dimension == 3
    assert loaded.method == bizol.MemoryBiZOL(0.1, directions=bizol.directions.Rademacher())
    assert loaded.problem.response == bizol.followers.Http("http://localhost:1/", timeout=3)
    nested = text.replace(
        'kind = "Product"\nfactors',
        'kind = "Scaled"\nfactor = 2.0\noriginal = { kind = "Simplex", dimension = 2 }\n#',
    )
    assert load(str(write(tmp_path, nested))).problem.feasible_set.dimension == 2


# --- answers from outside

OUTSIDE = "[follower]\noutside = true\n" + BODY


def test_the_help_of_tell_shows_what_the_answers_look_like() -> None:
    assert "{id: [y0, ...]}" in run("tell", "--help")[1]


def test_a_whole_run_by_ask_and_tell(tmp_path: Path) -> None:
    journal, problem, answers = (
        tmp_path / "run.bizol",
        write(tmp_path, OUTSIDE),
        tmp_path / "answers.csv",
    )
    sessions = 0
    while True:
        result = CliRunner().invoke(
            app, ["ask", str(journal), "--problem", str(problem), "--format", "csv"]
        )
        rows = list(csv.DictReader(result.stdout.splitlines()))
        if not rows:
            break
        with answers.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "y0", "y1", "y2"])
            for row in reversed(rows):
                writer.writerow(
                    [
                        row["id"],
                        *saturate(np.array([float(row[f"x{i}"]) for i in range(3)])).tolist(),
                    ]
                )
        code, output = run("tell", journal, answers)
        assert (code, output) == (0, f"{len(rows)} new answers; 0 queries are pending.")
        assert run("tell", journal, answers) == (0, "0 new answers; 0 queries are pending.")
        sessions += 1
    assert sessions == plain().iterations + 0 + (plain().queries > 7 * plain().iterations)
    assert f"value: {plain().value:.8g}" in re.sub(r"\s+", " ", result.stderr)
    code, output = run("ask", journal)
    assert "Nothing is pending; give --problem" in output


def test_pending_queries_as_a_table_and_as_json_without_the_problem(tmp_path: Path) -> None:
    journal = tmp_path / "run.bizol"
    run("ask", journal, "--problem", write(tmp_path, OUTSIDE))
    code, output = run("ask", journal)
    assert (code, "7 pending" in output, "0.3-.0" in output) == (0, True, True)
    listed = json.loads(CliRunner().invoke(app, ["ask", str(journal), "--format", "json"]).stdout)
    assert [each["id"] for each in listed] == [
        "0.0.0",
        *(f"0.{b}{s}.0" for s in "+-" for b in (1, 2, 3)),
    ]
    (tmp_path / "some.json").write_text(
        json.dumps({each["id"]: saturate(np.array(each["x"])).tolist() for each in listed[2:]})
    )
    assert run("tell", journal, tmp_path / "some.json") == (
        0,
        "5 new answers; 2 queries are pending.",
    )


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "line 1: the columns must be id, y0, y1, ..., got nothing"),
        ("a.csv", "id,x0\n0.0.0,1\n", "line 1: the columns must be id"),
        (
            "a.csv",
            "id,y0,y1,y2\n0.0.0,1,2,3\n\n0.1+.0,1,2\n",
            "line 4: 4 columns are needed, got 3",
        ),
        ("a.csv", "id,y0,y1,y2\n0.0.0,1,2,3\n0.1+.0,1,2,much\n", "line 3: 'much' is not a number"),
        ("a.csv", "id,y0,y1,y2\n0.0.0,1,2,3\n0.0.0,1,2,3\n", "line 3: 0.0.0 is answered twice"),
        (
            "a.csv",
            "id,y0,y1,y2\n0.0.0,1,2,3\n9.9.9,1,2,3\n",
            "line 3: '9.9.9' is not a query of this run",
        ),
        (
            "a.csv",
            "id,y0,y1,y2\n0.0.0,1,2,3\n0.1+.0,1,2,nan\n",
            "line 3: 0.1+.0 must be answered with a vector of finite",
        ),
        ("a.json", '{"0.0.0": [1, 2, 3], "0.0.0": [1, 2, 3]}', "0.0.0 is answered twice"),
        (
            "a.json",
            '{"0.0.0": [1, 2, 3],\n "0.1+.0": [1, 2]}',
            "line 2: 0.1+.0 needs 3 numbers, got 2",
        ),
        ("a.json", '{"0.0.0": [1, 2, 3],', "line 1: "),
        ("a.json", "[1]", "must hold an object"),
    ],
)
def test_a_file_with_a_mistake_is_refused_with_its_line_and_nothing_is_taken(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    journal = tmp_path / "run.bizol"
    run("ask", journal, "--problem", write(tmp_path, OUTSIDE))
    (tmp_path / name).write_text(text)
    code, output = run("tell", journal, tmp_path / name)
    assert code == 2
    assert message.replace(" ", "") in output.replace(" ", "")
    assert len(Journal(journal).pending()) == 7


def test_a_query_that_failed_outside_is_told_by_a_word(tmp_path: Path) -> None:
    journal = tmp_path / "run.bizol"
    run("ask", journal, "--problem", write(tmp_path, OUTSIDE))
    (tmp_path / "a.csv").write_text("id,y0,y1,y2\n0.1+.0,failed,,\n")
    assert run("tell", journal, tmp_path / "a.csv") == (0, "2 new answers; 6 queries are pending.")
    assert summarize(Journal(journal)).given_up == 1


# --- show and export


def test_show_tells_what_was_asked_spent_and_reached_also_while_it_runs(tmp_path: Path) -> None:
    journal = tmp_path / "run.bizol"
    hold = threading.Event()
    asked: list[Any] = []

    def respond(x: Any) -> Any:
        asked.append(x)
        if len(asked) == 20:
            hold.wait(20)
        return saturate(x)

    worker = threading.Thread(
        target=lambda: bizol.minimize(
            saturated(response=respond), method=METHOD, budget=40, seed=0, journal=journal
        )
    )
    worker.start()
    until(lambda: len(asked) >= 20)
    code, output = run("show", journal)
    hold.set()
    assert code == 0
    assert "running" in output
    assert "19 of 40" in output
    assert "1 pending" in output
    watched, terminal = pty.openpty()
    command = [str(Path(sys.executable).with_name("bizol")), "show", str(journal), "--watch"]
    done = subprocess.run(
        command, stdout=terminal, stderr=terminal, env=os.environ | {"TERM": "xterm"}, timeout=30
    )
    os.close(terminal)
    assert done.returncode == 0
    assert b"budget spent" in os.read(watched, 100_000)
    os.close(watched)
    worker.join()
    code, output = run("show", journal)
    assert "budget spent" in output
    assert f"{plain().value:.8g}" in output
    assert "36 of 40" in output


def test_show_before_anything_was_observed(tmp_path: Path) -> None:
    run("ask", tmp_path / "run.bizol", "--problem", write(tmp_path, OUTSIDE))
    code, output = run("show", tmp_path / "run.bizol")
    assert (code, "nothing was observed yet" in output, "waiting" in output) == (0, True, True)


def test_everything_is_exported_to_the_last_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tmp_path / "run.bizol"
    run("run", write(tmp_path, FOLLOWER + BODY), "--journal", journal)
    for name in ("out.csv", "out.parquet"):
        code, output = run("export", journal, tmp_path / name)
        assert (code, "36 rows" in output) == (0, True)
        path = tmp_path / name
        rows = (
            list(csv.DictReader(path.read_text().splitlines()))
            if name.endswith("csv")
            else pandas.read_parquet(path).to_dict(orient="records")
        )
        x, y = (
            np.array([[float(row[f"{letter}{i}"]) for i in range(3)] for row in rows])
            for letter in "xy"
        )
        assert np.array_equal(saturate(x), y)
        assert rows[1]["id"] == "0.1+.0"
    code, output = run("export", journal, tmp_path / "out.xlsx")
    assert (code, "must end in .csv or .parquet" in output) == (2, True)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'bizol\[parquet\]'"):
        journal_files.export(Journal(journal), tmp_path / "again.parquet")
