"""Runs nvtop on a terminal of its own until it has drawn what is expected, then quits it.

Usage: check_nvtop.py NVTOP WORD... It waits for the words, not for a time, so that a busy machine is only slower; and
nvtop never outlives the check, whatever it is doing.
"""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

PATIENCE_S = 60.0


def draw_until(terminal, words):
    """The words that the screen never showed."""
    drawn = b""
    give_up = time.monotonic() + PATIENCE_S
    while (missing := [word for word in words if word.encode() not in drawn]) and time.monotonic() < give_up:
        if not select.select([terminal], [], [], 0.5)[0]:
            continue
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other side is closed: nvtop has ended
            break
        if not piece:
            break
        drawn += piece
    return missing


def main(nvtop, *words):
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm"
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
        os.execv(nvtop, [nvtop, "-d", "2"])
    try:
        missing = draw_until(terminal, words)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    for word in missing:
        print(f"nvtop does not show {word}")
    if missing:
        sys.exit(1)
    print("nvtop: shows both devices")


main(*sys.argv[1:])
