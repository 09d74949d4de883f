"""Serves the application with waitress until it is told to stop, then lets running requests finish."""

from __future__ import annotations

import gc
import logging
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer
from waitress.wasyncore import close_all, loop

from reranker.base.errors import BadInput
from sinkrank.serving.bodies import Room, room_bytes
from sinkrank.serving.channels import Channel
from sinkrank.serving.dispatcher import Dispatcher
from sinkrank.serving.slow_clients import SlowClients, least_needed

if TYPE_CHECKING:
    from reranker.service.settings import Settings

_POLL_SECONDS = 1.0
# Idle keep-alive connections count too, and a load balancer holds many; waitress's default is 100.
_MAX_CONNECTIONS = 1000
# Of a request; engines read 16 KB by default. waitress copies the headers of one name, or of continued lines, again for
# each of them.
_MAX_HEAD_BYTES = 65_536
# More of them would keep the others waiting, fewer the new ones: each poll looks at all connections.
_ACCEPTED_AT_ONCE = 32
# What an answer that is passed on may be ahead of its reader. Two blocks of it fit into memory.
_AHEAD_BYTES = 1 << 20
# Of all answers that clients have not read yet, in memory and temporary files.
_MAX_UNREAD_BYTES = 256 << 20
# Objects made since the last look for cycles; Python's own 700 are a few hits of an engine's answer.
_NEW_OBJECTS = 20_000
# macOS takes no higher limit.
_MAX_FILES = 10_240

# Within it the given function is called when the server is to stop, and what it gives tells whether it is.
StopSource = Callable[[Callable[[], None]], AbstractContextManager[Callable[[], bool]]]

_log = logging.getLogger(__name__)


class Server(TcpWSGIServer):  # type: ignore[misc]
    """waitress's server with our pools of threads, limits on slow clients, and room for one more connection.

    Args:
        app: a WSGI application.
        listener: a bound socket, which listens from here on.

    Attributes:
        is_stopping: whether each answer is the last one on its connection.
    """

    channel_class = Channel

    def __init__(self, app: Any, settings: Settings, listener: socket.socket) -> None:
        self.slow_clients = SlowClients()
        self.is_stopping = False
        self._is_over = False
        self._next_check_s = 0.0
        self.max_connections = min(_MAX_CONNECTIONS, _file_limit() // 2)
        self.max_unread_bytes = _MAX_UNREAD_BYTES
        largest_bytes = max(settings.max_body_bytes, settings.proxy_max_body_bytes)
        self.body_room = Room(room_bytes(largest_bytes, settings.processes or 1))
        # As many threads again as may wait for an engine: what needs none still finds one.
        dispatcher = Dispatcher(2 * settings.max_engine_calls, settings.max_client_requests)
        adjustments = Adjustments(
            sockets=[listener],
            max_request_header_size=_MAX_HEAD_BYTES,
            max_request_body_size=largest_bytes,
            ident="sinkrank",
            # Beyond `max_connections` none could be closed for a new one.
            connection_limit=self.max_connections + 100,
            outbuf_high_watermark=_AHEAD_BYTES,
            outbuf_overflow=2 * _AHEAD_BYTES,
            # The application trusts no such header, and the engine gets what the client sent.
            clear_untrusted_proxy_headers=False,
        )
        sockinfo = (listener.family, listener.type, listener.proto, listener.getsockname())
        super().__init__(
            app, {}, _sock=listener, dispatcher=dispatcher, adj=adjustments, sockinfo=sockinfo, bind_socket=False
        )

    def poll_once(self, timeout_s: float) -> None:
        """Waits for connections to become readable or writable, and serves them; call it again and again."""
        loop(timeout=timeout_s, use_poll=True, map=self._map, count=1)
        now_s = time.monotonic()
        if now_s >= self._next_check_s or self._is_over:
            self._next_check_s = now_s + _POLL_SECONDS
            self._check(now_s)

    def is_busy(self) -> bool:
        """Whether a request is being answered, its body is on its way in, or an answer is on its way out."""
        return any(channel.requests or channel.total_outbufs_len or channel.awaits_body for channel in self._channels())

    def maintenance(self, now: float) -> None:
        """Closes connections that were idle for too long. waitress would close all that are idle when the system's
        clock jumps ahead.

        Args:
            now: ignored, the time of that clock.
        """
        oldest_s = time.monotonic() - self.adj.channel_timeout
        for channel in self._channels():
            if not channel.requests and channel.active_s < oldest_s:
                channel.will_close = True

    def stop_listening(self) -> None:
        self.del_channel(self._map)
        self.socket.close()

    def close_all(self) -> None:
        """Clients that still wait see a closed connection."""
        self.task_dispatcher.shutdown(timeout=1)
        for channel in self._channels():
            channel.handle_close()  # removes its temporary files too
        close_all(self._map, ignore_all=True)

    def note_unread(self, n_bytes: int) -> None:
        """A thread adds to what clients are to read."""
        if self._n_unread_bytes() + n_bytes > self.max_unread_bytes:
            self._is_over = True
            self.pull_trigger()

    def handle_accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            n_before = len(self.active_channels)
            victim = least_needed(self._channels()) if n_before >= self.max_connections else None
            super().handle_accept()
            if len(self.active_channels) == n_before:
                return  # no more of them
            if victim is not None:
                victim.handle_close()

    def _check(self, now_s: float) -> None:
        self.task_dispatcher.refuse_overdue()
        self.maintenance(now_s)
        for channel in self.slow_clients.overdue(self._channels(), now_s):
            self._disconnect(channel, "it neither sent its request nor read its answer")
        for channel in self._channels():
            if channel.has_left():
                self._disconnect(channel, "it left before its answer came")
                channel.client.leave()
        if self.body_room.was_full:
            self.body_room.was_full = False
            for channel in self.slow_clients.slow_senders(self._channels(), now_s):
                self._disconnect(channel, "request bodies take all their room, and it sends slowly")
        n_over = self._n_unread_bytes() - self.max_unread_bytes
        self._is_over = False
        for channel in self.slow_clients.slowest(self._channels(), n_over, now_s):
            self._disconnect(channel, "too much of all answers is unread, and it reads slowest")

    def _disconnect(self, channel: Channel, reason: str) -> None:
        # Not by `will_close`, which waits until the client reads.
        _log.info("the client at %s is disconnected: %s", channel.addr[0], reason)
        channel.handle_close()

    def _channels(self) -> list[Channel]:
        return list(self.active_channels.values())

    def _n_unread_bytes(self) -> int:
        return sum(channel.total_outbufs_len for channel in self._channels())


def bind(host: str, port: int) -> socket.socket:
    """A socket bound to the address; port 0 picks a free one. It refuses connections until the server listens, so that
    no client waits for a service that is still compiling.

    Raises:
        BadInput: the address cannot be used; the message says why.
    """
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        # Connections in TIME_WAIT do not block the port.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        return listener
    except (OSError, TypeError) as error:  # TypeError: the name cannot be encoded
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise BadInput(
            f"cannot listen at {host} port {port} ({reason}); choose another with --host and --port, 0 for a free port"
        ) from error


def address_of(listener: socket.socket) -> str:
    """The address to type into a browser: `http://127.0.0.1:8080`."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104  only compared
        host = "127.0.0.1" if host == "0.0.0.0" else "::1"  # noqa: S104
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def stop_signals(wake: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Within it the first SIGTERM or SIGINT is only noted; a second one ends the process at once, as usual."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)
        restore()
        wake()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    before = {int(number): signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield lambda: bool(received)
    finally:
        restore()


def serve_until_stopped(
    app: Any,
    settings: Settings,
    listener: socket.socket,
    on_start: Callable[[], None] = lambda: None,
    on_ready: Callable[[], None] = lambda: None,
    on_stop: Callable[[], None] = lambda: None,
    stop_source: StopSource = stop_signals,
) -> None:
    """Serves until it is told to stop, and for `drain_s` after it. Then it accepts no connections, and returns when all
    running requests have finished, or `grace_s` later.

    Args:
        on_start: called in each process that serves.
        on_ready: called once it takes connections.
        on_stop: called when it is told to stop, before draining.
        stop_source: what tells it; signals need the main thread.
    """
    server = Server(app, settings, listener)
    with stop_source(server.pull_trigger) as stopped:
        on_start()
        on_ready()
        while not stopped():
            server.poll_once(_POLL_SECONDS)
        on_stop()
        server.is_stopping = True
        drained = time.monotonic() + settings.drain_s
        while time.monotonic() < drained:
            server.poll_once(0.1)
        server.stop_listening()
        deadline = time.monotonic() + settings.grace_s
        while time.monotonic() < deadline and server.is_busy():
            server.poll_once(0.1)
    server.close_all()


def spare_collector() -> None:
    """The garbage collector leaves alone what was opened so far, and looks for cycles less often: a search makes some
    thousand objects, which all go when it is answered. Call it before the first request and the first fork."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)


def _file_limit() -> int:
    """How many files and sockets the process may have open, after asking for `_MAX_FILES`."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return _MAX_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= _MAX_FILES:
        return _MAX_FILES
    most = _MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_FILES)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        return most
    return soft
