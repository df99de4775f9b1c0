"""SRMP and its remoting payload over a plain UDP socket: what a client in another language would write from the sheet.

It shares nothing with the implementation under test. A frame is

    flags, seq, length (16 bits, little-endian), payload        and length FFFF announces one of 32 bits behind it;
    flags & C0: 00 request, 40 one-way, 80 reply, C0 error reply; the other bits are the kind of data.

A call's payload is a name, then, if there are arguments, their length in 32 bits and they. Standard library only.
"""
import json
import struct

REQUEST, ONE_WAY, REPLY, ERROR = 0x00, 0x40, 0x80, 0xC0
BINARY, JSON_KIND = 1, 3
LONGEST_SHORT = 65534


class Malformed(Exception):
    """Bytes that are no SRMP."""


def frame(seq, payload, what=REQUEST, kind=BINARY):
    if len(payload) <= LONGEST_SHORT:
        return struct.pack('<BBH', what | kind, seq, len(payload)) + payload
    return struct.pack('<BBHI', what | kind, seq, 0xFFFF, len(payload)) + payload


def frames(datagram):
    """(what, kind, seq, payload) of every frame; they fill the datagram exactly, or it is malformed."""
    found = []
    at = 0
    while at < len(datagram):
        if len(datagram) - at < 4:
            raise Malformed(f'{len(datagram) - at} bytes behind the last frame')
        flags, seq, size = struct.unpack_from('<BBH', datagram, at)
        at += 4
        if size == 0xFFFF:
            if len(datagram) - at < 4:
                raise Malformed('ends inside a long header')
            size, = struct.unpack_from('<i', datagram, at)
            at += 4
        if size < 0 or size > len(datagram) - at:
            raise Malformed(f'a frame of {size} bytes where {len(datagram) - at} are left')
        found.append((flags & 0xC0, flags & 0x3F, seq, datagram[at:at + size]))
        at += size
    return found


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def call(name, arguments=None):
    """The payload of a call. `arguments`: None, bytes as they are, or what becomes compact JSON."""
    text = name.encode()
    if arguments is None:
        return varint(len(text)) + text
    data = arguments if isinstance(arguments, bytes) else json.dumps(arguments, separators=(',', ':')).encode()
    return varint(len(text)) + text + struct.pack('<i', len(data)) + data


def read_reply(what, payload):
    """(name, code, data): code is 0 for success, data None where there is none."""
    size = at = shift = 0
    while True:
        byte = payload[at]
        size |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            break
    name = payload[at:at + size].decode()
    at += size
    if len(name) != size or not name:
        raise Malformed(f'a reply whose name is {name!r} and should have {size} bytes')
    code = 0
    if what == ERROR:
        code, = struct.unpack_from('<i', payload, at)
        at += 4
    if at == len(payload):
        return name, code, None
    length, = struct.unpack_from('<i', payload, at)
    data = payload[at + 4:at + 4 + length]
    if length < 0 or len(data) != length:
        raise Malformed(f'data of {length} bytes where {len(data)} are left')
    return name, code, data or None


class Client:
    """Calls over one connected UDP socket, one at a time."""

    def __init__(self, sock, address):
        self.sock = sock
        sock.connect(address)
        self._seq = 0

    def next_seq(self):
        self._seq = self._seq % 255 + 1
        return self._seq

    def receive(self):
        """The frames of the next datagram."""
        return frames(self.sock.recv(65535))

    def call(self, name, arguments=None):
        """(code, data) of the reply; a time-out of the socket is one."""
        seq = self.next_seq()
        self.sock.send(frame(seq, call(name, arguments)))
        while True:
            for what, _, answered, payload in self.receive():
                if answered == seq and what in (REPLY, ERROR):
                    replied, code, data = read_reply(what, payload)
                    if replied.lower() != name.lower():
                        raise Malformed(f'called {name}, {replied} answered')
                    return code, data
