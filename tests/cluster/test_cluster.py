"""The work on a real Dask cluster: the same report, whatever happens to its workers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import planting
import pytest

import kexec_lint
from kexec_lint.engine import cluster as module
from kexec_lint.engine.check import Report, check
from kexec_lint.engine.cluster import Cluster, ClusterError
from kexec_lint.engine.request import Request
from kexec_lint.engine.rules import Selection

distributed = pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def planted(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = tmp_path_factory.mktemp("project")
    planting.plant(top)
    monkeypatch.chdir(top)
    monkeypatch.setattr(module, "_FILES", 4)
    return top


@pytest.fixture(scope="module")
def workers() -> Iterator[distributed.LocalCluster]:
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=":0") as cluster:
        yield cluster


def address(cluster: distributed.LocalCluster) -> str:
    return cluster.scheduler_address.replace("tcp://", "dask://")


def run(pool: Cluster | None = None, progress=None, **options) -> Report:
    selection = Selection(select=("ALL",))
    request = Request(selection=selection, confidence="possible", jobs=1, cache_results=False, isolated=True, **options)
    report = check(request, pool, progress)
    assert report.errors == []
    return report


def same(one: Report, other: Report) -> bool:
    return (one.findings, sorted(one.notes)) == (other.findings, sorted(other.notes))


def test_the_report_is_that_of_one_process(workers):
    pool = Cluster(address(workers))
    alone, spread = run(), run(pool)
    assert len(alone.findings) > 300
    assert same(alone, spread)
    assert (spread.analysed, pool.here) == (alone.analysed, 0)


def test_a_worker_that_is_killed_loses_nothing(workers):
    alone = run()
    killed = []

    def kill(done: int, total: int) -> None:
        if not killed:
            killed.append(workers.workers[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    assert same(alone, run(Cluster(address(workers)), kill))
    assert killed


def test_a_cluster_that_ends_on_the_way_loses_nothing(monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE", 3.0)
    monkeypatch.setattr(module, "_AHEAD", 1)
    alone = run()
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        pool = Cluster(address(cluster))
        assert same(alone, run(pool, lambda done, total: done == 1 and cluster.close()))
        assert pool.here > 0


def test_what_a_worker_sees_otherwise_is_analysed_here(workers, planted):
    kernels = "__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2; }\n"
    host = (
        "import pyopencl as cl\nfrom kernels import SOURCE\n"
        "def f(ctx, host, out):\n"
        "    queue = cl.CommandQueue(ctx, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)\n"
        "    x = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 64)\n"
        "    up = cl.enqueue_copy(queue, x, host, is_blocking=False)\n"
        "    cl.Program(ctx, SOURCE).build().twice(queue, (16,), None, x, wait_for=[up])\n"
    )
    (planted / "kernels.py").write_text(f"SOURCE = {kernels!r}\n")
    (planted / "host.py").write_text(host)
    unsaved = ((str(planted / "kernels.py"), f"SOURCE = {kernels.replace('float', 'int')!r}\n".encode()),)
    pool = Cluster(address(workers))
    assert same(run(buffers=unsaved), run(pool, buffers=unsaved))
    assert pool.here == 1, "host.py, whose imported module stands here otherwise"


def test_other_versions_are_one_line(workers, monkeypatch):
    monkeypatch.setattr(kexec_lint, "__version__", "9.9")
    module.identity.cache_clear()
    try:
        with pytest.raises(ClusterError, match=r"has kexec-lint 0\..*, here 9\.9 .*: install the same there$"):
            run(Cluster(address(workers)))
    finally:
        module.identity.cache_clear()


def test_a_worker_of_another_version_that_joins_later_analyses_nothing():
    theirs = module.identity() | {"Python": "2.7"}
    assert module.analyse([], theirs) == module.difference(theirs, module.identity(), "a worker")
    assert "Python 3." in module.analyse([], theirs)


def test_no_scheduler_no_workers_no_extra(monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE", 1.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ClusterError, match=rf"^dask://127.0.0.1:{port}: no Dask scheduler answers"):
        run(Cluster(f"dask://127.0.0.1:{port}"))
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
        pytest.raises(ClusterError, match="the cluster has no workers"),
    ):
        run(Cluster(address(cluster)))
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ClusterError, match=r"needs the extra distributed: pip install 'kexec-lint\[distributed\]'"):
        Cluster("dask://127.0.0.1:1")
    with pytest.raises(ClusterError, match="give dask://HOST:PORT"):
        Cluster("tcp://127.0.0.1:1")


def test_the_command_line(workers, tmp_path):
    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "kexec_lint", "check", "--no-cache", "--output-format", "concise", *arguments]
        variables = {**os.environ, "KEXEC_LINT_CACHE_DIR": str(tmp_path)}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=variables)

    alone, spread = call("-j1"), call("--executor", address(workers))
    assert (spread.returncode, spread.stdout) == (1, alone.stdout)
    assert sorted(spread.stderr.splitlines()) == sorted(alone.stderr.splitlines())
    refused = call("--executor", "dask://nowhere")
    assert refused.returncode == 2
    assert refused.stderr == (
        "kexec-lint: --executor dask://nowhere: give dask://HOST:PORT, the address of a Dask scheduler\n"
    )
