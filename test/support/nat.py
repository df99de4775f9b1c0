#!/usr/bin/python3
"""A NAT in front of one client, which forgets: datagrams go on to the server, and after so many from another port.

    nat.py ADDRESS PORT SERVER SERVER_PORT EVERY

Listens on ADDRESS:PORT and speaks to SERVER:SERVER_PORT. After EVERY datagrams of the client's the next one leaves from a new
port; what the server still sends to an old one is passed on, as by a NAT that keeps a mapping for a while. Prints `ready` when
it listens and, at SIGTERM, how many ports it has used. Standard library only; run inside a namespace.
"""
import select
import signal
import socket
import sys

DATAGRAM = 65535


class Nat:
    def __init__(self, address, port, server, every):
        self._server = server
        self._every = every
        self._inside = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET, socket.SOCK_DGRAM)
        self._inside.bind((address, port))
        self._outside = []
        self._client = None
        self._passed = 0

    def _mapping(self):
        if self._passed % self._every == 0:
            fresh = socket.socket(self._inside.family, socket.SOCK_DGRAM)
            fresh.connect(self._server)
            self._outside.append(fresh)
        self._passed += 1
        return self._outside[-1]

    def ports(self):
        return len(self._outside)

    def turn(self):
        for ready in select.select([self._inside, *self._outside], [], [])[0]:
            try:
                if ready is self._inside:
                    datagram, self._client = ready.recvfrom(DATAGRAM)
                    self._mapping().send(datagram)
                else:
                    self._inside.sendto(ready.recv(DATAGRAM), self._client)
            except ConnectionRefusedError:
                pass  # somebody's port is closed by now: a NAT does not care


def main():
    nat = Nat(sys.argv[1], int(sys.argv[2]), (sys.argv[3], int(sys.argv[4])), int(sys.argv[5]))

    def end(*_):
        print(nat.ports(), flush=True)
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    print('ready', flush=True)
    while True:
        nat.turn()


if __name__ == '__main__':
    main()
