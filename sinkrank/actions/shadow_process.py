"""The process that ranks searches beside the engine (`reranker.proxy.shadow`): it shares nothing with those that serve
but a socket, and takes only the processor time that they leave."""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from reranker.base.errors import SinkrankError, WrongParameter
from reranker.proxy.shadow import ShadowSender, rank_beside, read_message
from reranker.service.settings import Settings
from reranker.traffic.file import TrafficFile
from reranker.upstream.addresses import is_engine
from reranker.upstream.incoming import Incoming
from sinkrank.actions.in_process_proxy import check_engine, proxy_of
from sinkrank.console import resources

_LEAST_PRIORITY = 19
_LARGEST_MESSAGE = 1 << 20
# How often it looks whether its parent is still there.
_LOOK_S = 1.0
# After a search it rests as long as the search took: the engine answers the callers' searches too.
_LONGEST_REST_S = 1.0

_log = logging.getLogger(__name__)


@contextmanager
def shadow_process(settings: Settings) -> Iterator[Callable[[Incoming], None]]:
    """A process that ranks the searches that it is given and adds them to the traffic file, until the end.

    Enter it before threads are started, connections are opened, or other processes are forked.

    Raises:
        WrongParameter: the system cannot fork, or there is no engine.
        StoreUnavailable: the traffic file cannot be written.
    """
    if not hasattr(os, "fork"):
        raise WrongParameter("proxy_mode shadow needs Linux or macOS; leave it out, or set it to on")
    if not is_engine(settings.store_address):
        raise WrongParameter("proxy_mode shadow needs an engine; give --store opensearch://HOST:9200")
    file = TrafficFile(settings.home)
    file.create()
    to_read, to_write = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    owner = os.getpid()
    pid = os.fork()
    if not pid:
        try:
            to_write.close()
            _rank_until_left(settings, to_read, owner)
        except Exception:
            _log.exception("the process that ranks in shadow has failed; start the service again to go on recording")
        finally:
            os._exit(0)  # all else that is begun is the parent's
    to_read.close()
    try:
        yield ShadowSender(to_write).send
    finally:
        if os.getpid() == owner:  # forked processes run this too
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            to_write.close()


def _rank_until_left(settings: Settings, to_read: socket.socket, parent: int) -> None:
    """Ranks what comes until the parent has ended, as soon as there are embeddings."""
    os.nice(_LEAST_PRIORITY)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the parent ends it
    file = TrafficFile(settings.home)
    with resources.opened_store(settings) as store:
        proxy = proxy_of(settings, check_engine(settings, store), resources.embeddings_if_any(settings))
        to_read.settimeout(_LOOK_S)
        while os.getppid() == parent:
            try:
                message = to_read.recv(_LARGEST_MESSAGE)
            except TimeoutError:
                continue
            started = time.monotonic()
            incoming, missed = read_message(message)
            try:
                file.add_shadowed(rank_beside(proxy, incoming, settings.log_queries), missed)
            except SinkrankError as error:
                _log.warning("%s", error)
            except Exception:
                _log.exception("a search could not be ranked beside the engine")
            time.sleep(min(_LONGEST_REST_S, time.monotonic() - started))
