"""A server that attempts accesses that a sandbox forbids. Each call of its tool `attempt` makes one
access, and returns "done", the value that was read, "failed", or the name of the error."""

import ctypes
import errno
import json
import os
import signal
import socket
import subprocess
import sys

SYS_IO_URING_SETUP = 425


def attempt(kind, target):
    if kind == "read":
        with open(os.path.expanduser(target), "rb") as file:
            file.read(1)
    elif kind == "list":
        os.listdir(target)
    elif kind == "write":
        with open(os.path.expanduser(target), "a") as file:
            file.write("x")
    elif kind == "truncate":
        os.truncate(target, 0)
    elif kind == "connect":
        socket.create_connection(("127.0.0.1", int(target)), 5).close()
    elif kind == "listen":
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", int(target)))
            listener.listen()
    elif kind == "udp":
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            datagrams.sendto(b"x", ("127.0.0.1", int(target)))
    elif kind == "local":
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(target)
    elif kind == "local_datagram":
        # The socket of a pair needs no call of socket().
        for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM):
            end.sendto(b"x", target)
    elif kind == "pipe":
        for end in socket.socketpair():
            end.close()
    elif kind == "uring":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syscall(SYS_IO_URING_SETUP, 1, ctypes.create_string_buffer(256)) < 0:
            raise OSError(ctypes.get_errno(), "io_uring_setup")
    elif kind == "signal":
        os.kill(int(target), signal.SIGUSR1)
    elif kind == "environment":
        with open(f"/proc/{target}/environ", "rb") as file:
            file.read(1)
    elif kind == "run":
        # The command runs in a session of its own, without the server's environment.
        return subprocess.run(
            target, shell=True, env={"PATH": os.environ["PATH"]}, start_new_session=True
        ).returncode == 0
    elif kind == "variable":
        return os.environ.get(target, "")
    else:
        raise ValueError(kind)
    return True


def call(arguments):
    try:
        outcome = attempt(arguments["kind"], arguments.get("target", ""))
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    if isinstance(outcome, str):
        return outcome
    return "done" if outcome else "failed"


def answer(request):
    method = request["method"]
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "curious", "version": "1"},
        }
    if method == "tools/list":
        schema = {"type": "object", "additionalProperties": {"type": "string"}}
        return {"tools": [{"name": "attempt", "inputSchema": schema}]}
    if method == "tools/call":
        text = call(request["params"]["arguments"])
        return {"content": [{"type": "text", "text": text}]}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        message = {"jsonrpc": "2.0", "id": request["id"], "result": answer(request)}
        print(json.dumps(message), flush=True)
