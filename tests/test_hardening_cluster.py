"""``--scheduler`` changes no option, and every failure of a cluster is one sentence."""

import importlib
import json
import os
import socket
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from cospan import distributed as ours
from cospan.cli import app
from cospan.data import encode, open_source
from cospan.errors import InputError

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def table(seed=0, rows=90):
    rng = np.random.default_rng(seed)
    values = {f"x{j}": rng.normal(size=rows) + j * seed for j in range(3)}
    return pd.DataFrame(
        {
            "key": [f"row {i}" for i in range(rows)],
            **values,
            "count": rng.integers(0, 9, rows),
            "kind": np.array(["cat", "dog", "cow"])[np.arange(rows) % 3],
        }
    )


@pytest.fixture(scope="module")
def cluster():
    distributed = importlib.import_module("distributed")
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as made:
        yield made.scheduler_address


def compared(*arguments):
    options = ("--json", "--quiet", "--permutations", "19")
    found = CliRunner().invoke(app, ["compare", *map(str, arguments), *options])
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


CASES = {
    "text columns are left out": (),
    "columns": ("--columns", "x0", "--columns", "x2"),
    "identifiers": ("--id", "key"),
    "classes": ("--label", "kind", "--a", "cat", "--b", "dog"),
}


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("case", CASES)
def test_options_work_as_without_a_cluster(case, ending, tmp_path, cluster):
    paths = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for seed, path in enumerate(paths):
        frame = table(seed)
        frame.to_parquet(path) if ending == "parquet" else frame.to_csv(path, index=False)
    given = paths[:1] if case == "classes" else paths
    here = compared(*given, *CASES[case])
    there = compared(*given, *CASES[case], "--scheduler", cluster)
    for side in "ab":
        assert there[side]["name"] == here[side]["name"]
        assert there[side]["theta_degrees"] == pytest.approx(here[side]["theta_degrees"], rel=1e-9)


def test_classes_of_one_table_are_found_by_the_workers(tmp_path, cluster):
    table().to_parquet(tmp_path / "a.parquet")
    path = tmp_path / "a.parquet"
    here = compared(path, "--label", "kind")
    there = compared(path, "--label", "kind", "--scheduler", cluster)
    assert there["sets"] == here["sets"]


def test_identifiers_and_labels_come_with_the_rows():
    dd = importlib.import_module("dask.dataframe")
    with importlib.import_module("dask").config.set(scheduler="synchronous"):
        frame = dd.from_pandas(table(), npartitions=3)
        (source,) = encode([open_source(frame, label="kind", id_column="key")])
        assert source.lazy is None
        chunk = source.read()
    assert chunk.ids.tolist() == table()["key"].tolist()
    assert chunk.labels.tolist() == table()["kind"].tolist()
    assert source.feature_names == ("x0", "x1", "x2", "count")


def test_bad_columns_are_said(tmp_path):
    dd = importlib.import_module("dask.dataframe")
    frame = dd.from_pandas(table(), npartitions=2)
    with pytest.raises(InputError, match=r"has no column 'nothing' \(asked for by columns="):
        encode([open_source(frame, columns=["nothing"])])
    with pytest.raises(InputError, match="strict"):
        open_source(frame, strict=True)
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(Exception, match=r"a\.csv") as caught:
        ours.read_lazily(tmp_path / "a.csv")
    assert "\n" not in str(caught.value)


# ---- clusters that fail ------------------------------------------------------------------------


def run_cli(arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "cospan", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        **options,
    )


def is_one_sentence(found, *words):
    assert found.returncode == 1, found.stderr
    assert "Traceback" not in found.stderr
    lines = [line for line in found.stderr.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1, found.stderr
    assert lines[0].startswith("error: ")
    assert "bug in cospan" not in found.stderr
    for word in words:
        assert word in found.stderr


@pytest.fixture
def files(tmp_path):
    for seed, name in enumerate("ab"):
        table(seed).to_parquet(tmp_path / f"{name}.parquet")
    return tmp_path / "a.parquet", tmp_path / "b.parquet"


class Scheduler:
    """A scheduler in a process of its own, which can be killed."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self.processes = [
            self._start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        ]
        self._wait(port)

    def _start(self, *arguments, **options):
        return subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **options,
        )

    def _wait(self, port):
        for _ in range(300):
            with socket.socket() as trying:
                if trying.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.1)
        raise AssertionError("the scheduler does not start")

    def add_worker(self, **options):
        given = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
        self.processes.append(self._start("worker", self.address, *given, **options))

    def kill(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def scheduler():
    made = Scheduler()
    yield made
    made.kill()


def test_nobody_at_the_address(files):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    found = run_cli(["compare", *files, "--scheduler", f"tcp://127.0.0.1:{port}"])
    is_one_sentence(found, "No Dask scheduler answers at tcp://127.0.0.1")


def test_something_else_at_the_address(files):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        found = run_cli(["compare", *files, "--scheduler", address])
    is_one_sentence(found, "No Dask scheduler answers at")


def test_no_workers(files, scheduler):
    found = run_cli(["compare", *files, "--scheduler", scheduler.address])
    is_one_sentence(found, "has no workers", "dask worker")


def test_workers_without_cospan(files, scheduler, tmp_path):
    """Their environment knows Dask and not this package."""
    (tmp_path / "site").mkdir()
    blocker = "import sys\nsys.modules['cospan'] = None\n"
    (tmp_path / "site" / "sitecustomize.py").write_text(blocker)
    scheduler.add_worker(env={**os.environ, "PYTHONPATH": str(tmp_path / "site")})
    found = run_cli(["compare", *files, "--scheduler", scheduler.address])
    is_one_sentence(found, "lack cospan")


KILL = """
import os, signal
import cospan.comparison.reading as reading
from cospan.cli import main
found = reading._read_where_it_is
def then_kill(*args, **kwargs):
    os.kill(int(os.environ["VICTIM"]), signal.SIGKILL)
    return found(*args, **kwargs)
reading._read_where_it_is = then_kill
main()
"""


def test_a_scheduler_that_is_killed(files, scheduler):
    scheduler.add_worker(env=dict(os.environ))
    victim = {"VICTIM": str(scheduler.processes[0].pid)}
    found = subprocess.run(
        [sys.executable, "-c", KILL, "compare", *map(str, files), "--scheduler", scheduler.address],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **victim},
    )
    is_one_sentence(found, "scheduler at", "was lost")


def test_workers_that_are_killed_again_and_again():
    distributed = importlib.import_module("distributed")
    killed = distributed.KilledWorker("task", None, 3)
    cluster = importlib.import_module("cospan.distributed")

    def work():
        with cluster._explained(distributed, "tcp://somewhere:1"):
            raise killed

    with pytest.raises(InputError, match="killed at work again and again"):
        work()
