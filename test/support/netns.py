"""Network namespaces for tests: millrace at one end of a cable, the kernel's stack at the other, nothing else in reach.

    with netns.Link('veth') as link, link.millrace('@af_packet', '--', 'serve') as server:
        server.wait_ready()
        link.kernel.run('ping', '-c', '1', link.box_ip4)

Namespaces have no name: each is held open by a file descriptor of this process, so that parallel runs cannot collide and
the kernel takes everything away (addresses, cables, interfaces) whenever and however this process ends. Nothing in them
leads anywhere: there is no route but the link's own, and the addresses are those for benchmarks (RFC 2544) and
documentation (RFC 3849).

Standard library only. Needs root (CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_NET_RAW), iproute2, ethtool and util-linux; missing()
says in one sentence what is not there.
"""
import contextlib
import ctypes
import errno
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SOURCE = os.environ.get('MILLRACE_SOURCE',
                        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
MILLRACE = os.path.join(os.environ.get('MILLRACE_BUILD', os.path.join(SOURCE, 'build')), 'app', 'millrace')

BOX_IP4, KERNEL_IP4, PREFIX4 = '198.18.0.1', '198.18.0.2', 24
BOX_IP6, KERNEL_IP6, PREFIX6 = '2001:db8:18::1', '2001:db8:18::2', 64
PROFILES = {'veth': '@af_packet', 'tap': '@tap'}

EXPERIMENT = 0x88B5  # IEEE 802: an ethertype for local experiments, that no stack answers

START_S = 30       # until millrace must be ready, on a busy machine
STOP_S = 20        # until it must have ended after a signal
COMMAND_S = 30     # for a command in a namespace
SKIPPED = 77       # exit status that meson counts as a skip

_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_CAPABILITIES = {'CAP_NET_ADMIN': 12, 'CAP_NET_RAW': 13, 'CAP_SYS_ADMIN': 21}
_libc = ctypes.CDLL(None, use_errno=True)


def missing(kind='veth', programs=()):
    """What keeps Link(kind) from working here, or None."""
    try:
        with open('/proc/self/status', encoding='ascii', errors='replace') as status:
            effective = next(int(line.split()[1], 16) for line in status if line.startswith('CapEff:'))
    except (OSError, StopIteration):
        return 'not Linux: /proc/self/status has no capabilities'
    lacking = [name for name, bit in _CAPABILITIES.items() if not effective >> bit & 1]
    if os.geteuid() != 0 or lacking:
        return 'needs root' + (f' with {", ".join(lacking)}' if lacking else '') + ' to make network namespaces'
    absent = [name for name in ('ip', 'ethtool', 'nsenter', 'unshare', *programs) if shutil.which(name) is None]
    if absent:
        return f'not installed: {", ".join(absent)} (scripts/install-packages --with-tests)'
    if kind == 'tap' and not os.access('/dev/net/tun', os.R_OK | os.W_OK):
        return '/dev/net/tun cannot be opened'
    try:
        with Namespace() as first, Namespace() as second:
            if kind == 'veth':
                _make_veth(first, 'probe0', second, 'probe1')
            else:
                first.run('ip', 'tuntap', 'add', 'dev', 'probe0', 'mode', 'tap')
            second.run('true', sysfs=True)
    except (OSError, subprocess.SubprocessError) as reason:
        said = getattr(reason, 'stderr', None) or str(reason)
        return f'the kernel refuses what a {kind} in namespaces takes: {said.strip().splitlines()[-1]}'
    return None


def skip_unless_possible(kinds=('veth',), programs=()):
    """For a script's start: ends it as skipped, with the reason, unless one of the kinds of link can be made."""
    if not os.path.exists(MILLRACE):
        print(f'{MILLRACE} is not built')
        sys.exit(SKIPPED)
    reasons = [missing(kind, programs) for kind in kinds]
    if all(reasons):
        print(f'skipped: {reasons[0]}')
        sys.exit(SKIPPED)


def end_by_exception_on_sigterm():
    """SIGTERM unwinds as SIGINT does (unittest would take SystemExit for a test's failure, and go on), so that processes
    in namespaces are stopped, captures closed and folders removed."""
    def stop(_number, _frame):
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, stop)


def _in_a_thread(work):
    """The result of work(), run on a thread of its own: namespaces belong to threads, and that one ends."""
    outcome = []

    def body():
        try:
            outcome.append((work(), None))
        except BaseException as reason:  # pylint: disable=broad-except
            outcome.append((None, reason))
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    result, reason = outcome[0]
    if reason is not None:
        raise reason
    return result


def _check(status, what):
    if status != 0:
        code = ctypes.get_errno()
        raise OSError(code, f'{what}: {os.strerror(code)}')


def _die_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _sysctl_name(name):
    return '/proc/sys/' + name


class Namespace:
    """One network namespace without a way out. close() lets go of it; so does the end of this process."""

    def __init__(self):
        def make():
            _check(_libc.unshare(_CLONE_NEWNET), 'unshare(CLONE_NEWNET)')
            return os.open('/proc/thread-self/ns/net', os.O_RDONLY | os.O_CLOEXEC)
        self._fd = _in_a_thread(make)
        self.path = f'/proc/{os.getpid()}/fd/{self._fd}'
        self.sysctl({
            # Nobody else is on the link: no wait for a duplicate address, no question for routers, no answer to them.
            **{f'net/ipv6/conf/{which}/{key}': value for which in ('all', 'default')
               for key, value in (('accept_dad', 0), ('accept_ra', 0), ('router_solicitations', 0), ('forwarding', 0))},
            'net/ipv4/ip_forward': 0,
        })
        self.run('ip', 'link', 'set', 'lo', 'up')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def inside(self, work):
        """work() on a thread in this namespace. Sockets made there stay in it, whoever uses them later."""
        def enter():
            _check(_libc.setns(self._fd, _CLONE_NEWNET), 'setns')
            return work()
        return _in_a_thread(enter)

    def socket(self, family=socket.AF_INET, kind=socket.SOCK_DGRAM, protocol=0, timeout=10):
        made = self.inside(lambda: socket.socket(family, kind, protocol))
        made.settimeout(timeout)
        return made

    def words(self, *command, sysfs=False):
        """The command line that runs `command` in here. `sysfs`: with a /sys that shows this namespace's interfaces."""
        enter = ['nsenter', f'--net={self.path}', '--']
        if sysfs:
            enter += ['unshare', '--mount', '--propagation', 'private', '--', 'sh', '-c',
                      'mount -t sysfs sysfs /sys && exec "$@"', 'sh']
        return [*enter, *command]

    def run(self, *command, check=True, sysfs=False, timeout=COMMAND_S):
        """Runs to the end; answers the CompletedProcess with text. `check`: anything but status 0 is an error, which
        shows what was said."""
        done = subprocess.run(self.words(*command, sysfs=sysfs), capture_output=True, text=True, timeout=timeout,
                              check=False, stdin=subprocess.DEVNULL, preexec_fn=_die_with_parent)
        if check and done.returncode != 0:
            raise subprocess.CalledProcessError(done.returncode, ' '.join(command), done.stdout,
                                                f'{" ".join(command)}: {done.stdout[-1000:]}{done.stderr[-2000:]}')
        return done

    def start(self, *command, sysfs=False, **options):
        """A running process; it is killed when this one dies."""
        return subprocess.Popen(self.words(*command, sysfs=sysfs), stdin=subprocess.DEVNULL,
                                preexec_fn=_die_with_parent, **options)

    def sysctl(self, values):
        def write():
            for name, value in values.items():
                with open(_sysctl_name(name), 'w', encoding='ascii') as file:
                    file.write(str(value))
        self.inside(write)

    def interfaces(self):
        return [name for _, name in self.inside(socket.if_nameindex)]

    def mac(self, interface):
        """As six bytes."""
        text = self.run('ip', '-json', 'link', 'show', 'dev', interface).stdout
        return bytes.fromhex(json.loads(text)[0]['address'].replace(':', ''))

    def raw(self, interface, timeout=10):
        """A socket that sends and receives whole Ethernet frames."""
        made = self.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003), timeout)
        made.bind((interface, 0))
        return made


def send_frame(sock, frame):
    """Through a packet socket, again while the cable is full: the kernel's backlog holds some thousand frames."""
    until = time.monotonic() + COMMAND_S
    while True:
        try:
            return sock.send(frame)
        except OSError as reason:
            if reason.errno not in (errno.ENOBUFS, errno.EAGAIN) or time.monotonic() > until:
                raise
            time.sleep(0.001)


def received(space, interface):
    """Packets that an interface of a namespace has received, by the kernel's count."""
    shown = space.run('ip', '-json', '-statistics', 'link', 'show', 'dev', interface).stdout
    return json.loads(shown)[0]['stats64']['rx']['packets']


def _make_veth(first, first_name, second, second_name):
    first.run('ip', 'link', 'add', first_name, 'type', 'veth', 'peer', 'name', second_name, 'netns', second.path)


def mac_text(mac):
    return ':'.join(f'{byte:02x}' for byte in mac)


def link_local(mac):
    """The address of RFC 4862 5.3 that belongs to a MAC."""
    interface_id = bytes([mac[0] ^ 2, *mac[1:3], 0xFF, 0xFE, *mac[3:]])
    return socket.inet_ntop(socket.AF_INET6, b'\xfe\x80' + bytes(6) + interface_id)


class Link:
    """millrace's end and the kernel's. veth: a namespace each, and a cable between them. tap: one namespace, whose
    interface millrace makes; plug() gives it addresses once it is there."""

    def __init__(self, kind='veth'):
        self.kind = kind
        self.box_iface, self.kernel_iface = ('box0', 'kernel0') if kind == 'veth' else ('tap0', 'tap0')
        self.box_ip4, self.kernel_ip4, self.box_ip6, self.kernel_ip6 = BOX_IP4, KERNEL_IP4, BOX_IP6, KERNEL_IP6
        self._ends = contextlib.ExitStack()
        with self._ends:
            self.kernel = self._ends.enter_context(Namespace())
            self.box = self._ends.enter_context(Namespace()) if kind == 'veth' else self.kernel
            folder = self._ends.enter_context(tempfile.TemporaryDirectory(prefix='millrace-netns-'))
            self.folder = folder
            self._numbers = iter(range(1_000_000))
            if kind == 'veth':
                self._lay_cable()
            self._ends = self._ends.pop_all()

    def _lay_cable(self):
        _make_veth(self.box, self.box_iface, self.kernel, self.kernel_iface)
        # The kernel's stack at millrace's end keeps quiet: no address, no IPv6.
        self.box.sysctl({f'net/ipv6/conf/{self.box_iface}/disable_ipv6': 1})
        self.box.run('ip', 'link', 'set', self.box_iface, 'up')
        self.plug()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._ends.close()

    def plug(self, timeout=START_S):
        """The kernel's end: offloads off (else it hands over unfinished checksums and superframes), addresses, up."""
        until = time.monotonic() + timeout
        while self.kernel_iface not in self.kernel.interfaces():
            if time.monotonic() > until:
                raise AssertionError(f'no interface {self.kernel_iface}, only {self.kernel.interfaces()}')
            time.sleep(0.02)
        self.kernel.run('ethtool', '-K', self.kernel_iface, 'tx', 'off', 'gro', 'off', 'tso', 'off', 'gso', 'off',
                        check=False)  # a tap has not all of them
        self.kernel.run('ip', 'address', 'replace', f'{KERNEL_IP4}/{PREFIX4}', 'dev', self.kernel_iface)
        self.kernel.run('ip', '-6', 'address', 'replace', f'{KERNEL_IP6}/{PREFIX6}', 'dev', self.kernel_iface, 'nodad')
        self.kernel.run('ip', 'link', 'set', self.kernel_iface, 'up')

    def set_mtu(self, mtu):
        for space, name in ((self.box, self.box_iface), (self.kernel, self.kernel_iface)):
            space.run('ip', 'link', 'set', 'dev', name, 'mtu', str(mtu))

    def kernel_mac(self):
        return self.kernel.mac(self.kernel_iface)

    def path(self, name):
        """A file of this name in a folder that goes with the link."""
        return os.path.join(self.folder, f'{next(self._numbers)}-{name}')

    def millrace(self, *words, environment=None):
        """A running millrace, at its end of the link. The profile's variables are set; `words` begin with the profile
        or with EAL arguments."""
        return Millrace(self, words, environment or {})

    def capture(self, interface=None):
        """What passes the kernel's end, in a file of packets. Started when this returns."""
        return Capture(self, interface or self.kernel_iface)


class Millrace:
    """One process of the built program in a namespace. stop() is SIGTERM and answers the exit status; leaving the
    `with` kills what still runs."""

    def __init__(self, link, words, environment):
        self.link = link
        self.json_path = link.path('result.json')
        words = list(words)
        if '--' in words and 'doctor' not in words:
            words += ['--json', self.json_path]
        self.words = [MILLRACE, *words]
        self.lines = []
        self.errors = []
        self._news = threading.Condition()
        self._ended = {'stdout': False, 'stderr': False}
        # Each with a runtime folder of its own: EAL's sockets do not meet those of another run.
        runtime = os.path.join(link.folder, f'run-{os.path.basename(self.json_path)}')
        os.mkdir(runtime)
        self.process = link.box.start(*self.words, sysfs=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      env={**os.environ, 'MILLRACE_IFACE': link.box_iface, 'RUNTIME_DIRECTORY': runtime,
                                           **environment})
        self._readers = [threading.Thread(target=self._read, args=(stream, lines, name), daemon=True)
                         for stream, lines, name in ((self.process.stdout, self.lines, 'stdout'),
                                                     (self.process.stderr, self.errors, 'stderr'))]
        for reader in self._readers:
            reader.start()

    def _read(self, stream, lines, name):
        for line in stream:
            with self._news:
                lines.append(line.rstrip('\n'))
                self._news.notify_all()
        with self._news:
            self._ended[name] = True
            self._news.notify_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def said(self):
        return '\n'.join(['$ ' + ' '.join(self.words), *self.lines[-60:], *self.errors[-60:]])

    def wait_line(self, prefix, timeout=START_S):
        """The first line of stdout that begins so."""
        with self._news:
            found = self._news.wait_for(
                lambda: [line for line in self.lines if line.startswith(prefix)] or self._ended['stdout'], timeout)
        if not found or found is True:
            raise AssertionError(f'no line "{prefix}" within {timeout} s\n{self.said()}')
        return found[0]

    def wait_ready(self, timeout=START_S):
        """Until it answers. On a tap, whose interface it has just made: that end gets its addresses."""
        line = self.wait_line('ready', timeout)
        if self.link.kind == 'tap':
            self.link.plug()
        return line

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def wait(self, timeout=STOP_S):
        """The exit status."""
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f'still running after {timeout} s\n{self.said()}') from late
        for reader in self._readers:
            reader.join(5)
        return status

    def stop(self, timeout=STOP_S):
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.wait(timeout)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for reader in self._readers:
            reader.join(5)
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()

    def result(self):
        """The object it wrote with --json, once it has ended."""
        with open(self.json_path, encoding='utf-8') as file:
            return json.load(file)


class Capture:
    """A running tcpdump. stop() ends it and answers the file's name."""

    def __init__(self, link, interface):
        self.path = link.path(f'{interface}.pcap')
        self._link, self._interface = link, interface
        self._errors = open(self.path + '.log', 'w+', encoding='utf-8', errors='replace')
        self._process = link.kernel.start('tcpdump', '-i', interface, '-n', '-U', '--immediate-mode', '-s', '0',
                                          '-B', '16384', '-Z', 'root', '-w', self.path, stdout=subprocess.DEVNULL,
                                          stderr=self._errors)
        until = time.monotonic() + START_S
        while 'listening on' not in self.log():
            if self._process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f'tcpdump does not start: {self.log()}')
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def log(self):
        with open(self.path + '.log', encoding='utf-8', errors='replace') as file:
            return file.read()

    def stop(self):
        """Once everything that has passed is in the file: a frame of our own, the last to pass, shows it."""
        mark = os.urandom(16)
        with self._link.kernel.raw(self._interface) as sock:
            sock.send(ethernet(b'\xff' * 6, b'\x02' + bytes(5), EXPERIMENT, mark))
        until = time.monotonic() + COMMAND_S
        while mark not in self._tail():
            if time.monotonic() > until:
                raise AssertionError(f'tcpdump does not write what passes: {self.log()}')
            time.sleep(0.02)
        self._process.send_signal(signal.SIGINT)
        self._process.wait(COMMAND_S)
        return self.path

    def _tail(self):
        with open(self.path, 'rb') as file:
            file.seek(max(0, os.path.getsize(self.path) - 65536))
            return file.read()

    def lost(self):
        """Packets that the kernel could not hand to tcpdump; after stop()."""
        for line in self.log().splitlines():
            if 'dropped by kernel' in line:
                return int(line.split()[0])
        return 0


def tshark(path, display_filter, fields=(), checksums=True, timeout=120):
    """One list of fields a packet that the filter takes; checksums are verified."""
    words = ['tshark', '-n', '-r', path, '-Y', display_filter]
    if checksums:
        words += ['-o', 'udp.check_checksum:TRUE', '-o', 'ip.check_checksum:TRUE']
    if fields:
        words += ['-T', 'fields', '-E', 'separator=/t', *(w for field in fields for w in ('-e', field))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise AssertionError(f'{" ".join(words)}: {done.stderr[-2000:]}')
    return [line.split('\t') if fields else line for line in done.stdout.splitlines()]


# --- frames by hand, for what no socket would send ---

def checksum(data):
    """RFC 1071, over an even number of bytes or with a zero behind."""
    if len(data) % 2:
        data += b'\0'
    total = sum(struct.unpack(f'!{len(data) // 2}H', data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def address_bytes(text):
    return socket.inet_pton(socket.AF_INET6 if ':' in text else socket.AF_INET, text)


def ethernet(destination, source, ethertype, payload, vlan=None):
    tag = b'' if vlan is None else struct.pack('!HH', 0x8100, vlan)
    frame = destination + source + tag + struct.pack('!H', ethertype) + payload
    return frame + bytes(max(0, 60 - len(frame)))


def ipv4(source, destination, payload, protocol=17, ident=0, flags_and_offset=0, ttl=64, bad_checksum=False,
         total_length=None):
    length = 20 + len(payload) if total_length is None else total_length
    header = struct.pack('!BBHHHBBH4s4s', 0x45, 0, length, ident, flags_and_offset, ttl, protocol, 0,
                         address_bytes(source), address_bytes(destination))
    sum_ = checksum(header) ^ (0x5555 if bad_checksum else 0)
    return header[:10] + struct.pack('!H', sum_) + header[12:] + payload


def ipv6(source, destination, payload, next_header=17, hop_limit=64):
    return struct.pack('!IHBB16s16s', 6 << 28, len(payload), next_header, hop_limit, address_bytes(source),
                       address_bytes(destination)) + payload


def pseudo_checksum(source, destination, protocol, payload):
    first, second = address_bytes(source), address_bytes(destination)
    size = struct.pack('!IHBB', len(payload), 0, 0, protocol) if len(first) == 16 else \
        struct.pack('!BBH', 0, protocol, len(payload))
    return checksum(first + second + size + payload)


def udp(source, source_port, destination, destination_port, payload, length=None, check=None):
    """`check`: None for the right checksum, 'wrong', or a number."""
    size = 8 + len(payload) if length is None else length
    packet = struct.pack('!HHHH', source_port, destination_port, size, 0) + payload
    if check is None or check == 'wrong':
        good = pseudo_checksum(source, destination, 17, packet) or 0xFFFF
        check = good ^ 0x5555 if check == 'wrong' else good
    return packet[:6] + struct.pack('!H', check) + packet[8:]


def arp(operation, sender_mac, sender, target_mac, target):
    return struct.pack('!HHBBH6s4s6s4s', 1, 0x0800, 6, 4, operation, sender_mac, address_bytes(sender), target_mac,
                       address_bytes(target))


class LinkCase(unittest.TestCase):
    """A test that needs a link of `kind`; skipped with the reason where there can be none."""
    kind = 'veth'
    programs = ()

    @classmethod
    def setUpClass(cls):
        reason = missing(cls.kind, cls.programs)
        if reason:
            raise unittest.SkipTest(reason)
        cls.link = Link(cls.kind)
        cls.addClassCleanup(cls.link.close)
