"""Waiting for a Dask cluster: as long as it has workers, and not for ever."""

import time
from collections.abc import Sequence
from typing import Any

from foldless.core.optional_imports import import_extra

# Between two looks at the cluster, and for an answer of its scheduler.
LOOK_SECONDS, ANSWER_SECONDS = 2.0, 60.0
# Workers that died are started anew, and those of a batch system may come late.
NO_WORKER_SECONDS = 300.0

FAILED = ("error", "cancelled", "lost")


def client_in_use() -> Any:
    """Return the client of the cluster that would compute now; None if Dask computes in this process."""
    base = import_extra("dask.base", "dask")
    owner = getattr(base.get_scheduler(), "__self__", None)
    return owner if type(owner).__module__.startswith("distributed") else None


def gathered(client: Any, futures: Sequence[Any]) -> list[Any]:
    """Return the results of futures; an error if the cluster has no worker for a long time, or gives no answer."""
    distributed = import_extra("distributed", "dask")
    last_seen = time.monotonic()
    while True:
        try:
            distributed.wait(futures, timeout=LOOK_SECONDS)
            return list(client.gather(futures))
        except TimeoutError:
            # What fails is told at once, while others are still computed; a task may raise this error too.
            if any(future.status in FAILED for future in futures):
                return list(client.gather(futures))
        if n_workers(client):
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen > NO_WORKER_SECONDS:
            raise cluster_lost(f"it has had no worker for {NO_WORKER_SECONDS:.0f} s")


def cluster_lost(reason: str) -> RuntimeError:
    """Return the error for a cluster that will give no result."""
    return RuntimeError(
        f"the Dask cluster was lost while it computed ({reason}). Start another one and call fit again; a search with a "
        "checkpoint goes on where it stood."
    )


def n_workers(client: Any) -> int:
    """Return how many workers a cluster has; an error if its scheduler does not answer."""
    try:
        return len(client.sync(client.scheduler.ncores, callback_timeout=ANSWER_SECONDS))
    except TimeoutError as error:
        raise cluster_lost(f"its scheduler gave no answer for {ANSWER_SECONDS:.0f} s") from error
