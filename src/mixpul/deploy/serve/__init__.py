"""A model as a small web server: rows in JSON in, scores out."""

import ipaddress
import signal
import socket
from collections.abc import Callable
from typing import Any

from mixpul._util.errors import MixpulError
from mixpul.deploy.serve._app import import_server, make_app
from mixpul.deploy.serve._rows import Limits

__all__ = ["Limits", "import_server", "is_local", "make_app", "open_socket", "run_server"]

# Requests at the same time; more are told to come again (503).
MOST_AT_ONCE = 100
SECONDS_TO_STOP = 10


def is_local(host: str) -> bool:
    """Whether only programs on this machine reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def open_socket(host: str, port: int) -> socket.socket:
    """Take a port, before anything slow is done; 0 takes a free one."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        opened = socket.socket(family, kind, protocol)
    except OSError as error:
        raise MixpulError(
            f"There is no address {host!r} to serve at ({error.strerror})."
        ) from error
    try:
        # A port that was left a moment ago can be taken again.
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
    except OSError as error:
        opened.close()
        raise MixpulError(
            f"Port {port} of {host!r} cannot be taken ({error.strerror}); choose another by --port."
        ) from error
    return opened


def run_server(app: Any, opened: socket.socket, on_started: Callable[[], None]) -> None:
    """Serve until Ctrl-C or SIGTERM; requests under way are answered first."""
    _, uvicorn = import_server()

    class Server(uvicorn.Server):  # type: ignore[name-defined]
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if self.started:
                on_started()

    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        limit_concurrency=MOST_AT_ONCE,
        timeout_graceful_shutdown=SECONDS_TO_STOP,
        server_header=False,
    )
    # uvicorn raises the signal that stopped it once more at its end; to be stopped is no error.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    Server(config).run(sockets=[opened])
