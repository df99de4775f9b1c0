"""scripts/check_layers finds each kind of violation in a made-up tree, and nothing in a good one."""
import unittest

from made_up_tree import MadeUpTree

TABLE = """# [room, rooms it may include, outside libraries, options]
rooms = [
    ['base',     [],                 [],          {}],
    ['env',      ['base'],           [dpdk_dep],  {}],
    ['mem',      ['base', 'env'],    [dpdk_dep],  {'pmr': true}],   # a comment with ['fake', [], [], {}]
    ['buf',      ['base', 'mem'],    [dpdk_dep],  {}],
    ['port',     ['base', 'env', 'mem', 'buf'], [dpdk_dep, ring_dep], {}],
    ['quic',     ['base', 'buf'],    [],          {'wire': true}],
    ['pipeline', ['base', 'env', 'mem', 'buf', 'port',
                  'quic'],           [],          {'eh': true}],
]
"""
GOOD = {
    'lib/meson.build': TABLE,
    'lib/base/bytes.hpp': '#include <span>\n#include <immintrin.h>\n',
    'lib/env/eal.cpp': '#include "env/eal.hpp"\n#include "base/bytes.hpp"\n#include <rte_eal.h>\n#include <unistd.h>\n',
    'lib/mem/pool.cpp': '#include <rte_mempool.h>\n',
    'lib/mem/pmr/resource.cpp': '#include "mem/pmr/resource.hpp"\n#include "mem/pool.hpp"\nvoid f() { throw 1; }\n',
    'lib/buf/packet.hpp': '#include <rte_mbuf.h>\n#include "mem/pool.hpp"\n',
    'lib/port/port.cpp': '#include <rte_ethdev.h>\n#include <rte_mbuf.h>\n',
    'lib/quic/wire/header.cpp': '#include "quic/wire/header.hpp"\n#include "base/bytes.hpp"\n',
    'lib/quic/conn.cpp': '// try this: throw nothing\n#include "buf/packet.hpp"\n#include "quic/wire/header.hpp"\n'
                         'const char* text = "do not throw";\n/* catch */ int retry_count;\n',
    'lib/pipeline/loop.cpp': '#include "port/port.hpp"\n#include "mem/pmr/resource.hpp"\nvoid f() { try { g(); } catch (...) {} }\n',
    'app/main.cpp': '#include "app/role.hpp"\n#include "pipeline/loop.hpp"\n#include <CLI/CLI.hpp>\n#include <fmt/core.h>\n',
}


class CheckLayers(unittest.TestCase):
    def findings(self, changed):
        with MadeUpTree({**GOOD, **changed}) as tree:
            status, lines = tree.run('check_layers')
        self.assertEqual(status, 1, lines)
        return '\n'.join(lines)

    def test_is_content_with_a_good_tree(self):
        with MadeUpTree(GOOD) as tree:
            status, lines = tree.run('check_layers')
        self.assertEqual(status, 0, lines)
        self.assertIn('7 rooms, 10 files', lines[0])

    def test_finds_an_upward_include(self):
        said = self.findings({'lib/base/bytes.hpp': '\n\n#include "buf/packet.hpp"\n'})
        self.assertIn('lib/base/bytes.hpp:3: "buf/packet.hpp": the row of base does not grant buf', said)

    def test_finds_a_sideways_include_that_no_row_grants(self):
        self.assertIn('does not grant port', self.findings({'lib/quic/conn.cpp': '#include "port/port.hpp"\n'}))

    def test_finds_an_include_of_the_app(self):
        self.assertIn('app/role.hpp', self.findings({'lib/pipeline/loop.cpp': '#include "app/role.hpp"\n'}))

    def test_finds_an_include_inside_a_condition(self):
        self.assertIn('bytes.hpp:2', self.findings({'lib/base/bytes.hpp': '#if X\n  #  include "env/eal.hpp"\n#endif\n'}))

    def test_finds_a_codec_that_sees_more_than_base(self):
        self.assertIn('a codec sees base alone', self.findings({'lib/quic/wire/header.cpp': '#include "buf/packet.hpp"\n'}))

    def test_finds_a_codec_that_sees_the_rest_of_its_room(self):
        self.assertIn('not the rest of its room', self.findings({'lib/quic/wire/header.cpp': '#include "quic/conn.hpp"\n'}))

    def test_finds_an_outside_library_in_the_wrong_room(self):
        self.assertIn('quic is not granted GnuTLS', self.findings({'lib/quic/conn.cpp': '#include <gnutls/gnutls.h>\n'}))
        self.assertIn('env is not granted fmt', self.findings({'lib/env/eal.cpp': '#include <fmt/core.h>\n'}))

    def test_finds_mbufs_outside_mem_buf_and_port(self):
        self.assertIn('not granted DPDK mbuf', self.findings({'lib/env/eal.cpp': '#include <rte_mbuf.h>\n'}))
        self.assertIn('not granted DPDK mbuf', self.findings({'lib/pipeline/loop.cpp': '#include <rte_mbuf.h>\n'}))
        self.assertIn('not granted DPDK mbuf', self.findings({'app/main.cpp': '#include <rte_mbuf.h>\n'}))

    def test_finds_dpdk_in_a_protocol_room_and_in_a_codec(self):
        self.assertIn('quic is not granted DPDK EAL', self.findings({'lib/quic/conn.cpp': '#include <rte_cycles.h>\n'}))
        self.assertIn('quic wire is not granted', self.findings({'lib/quic/wire/header.cpp': '#include <rte_byteorder.h>\n'}))

    def test_finds_a_clock_or_a_socket_in_a_protocol_room(self):
        self.assertIn('clock and threads', self.findings({'lib/quic/conn.cpp': '#include <chrono>\n'}))
        self.assertIn('system', self.findings({'lib/quic/conn.cpp': '#include <sys/socket.h>\n'}))

    def test_finds_exceptions_below_level_six(self):
        said = self.findings({'lib/quic/conn.cpp': 'int f() {\n  throw 1;\n}\n', 'lib/base/bytes.hpp': 'void g() { try {} '
                              'catch (...) {} }\n'})
        self.assertIn('lib/quic/conn.cpp:2: throw', said)
        self.assertIn('lib/base/bytes.hpp:1: try', said)
        self.assertIn('lib/base/bytes.hpp:1: catch', said)

    def test_finds_pmr_below_level_six_and_exceptions_outside_its_folder(self):
        self.assertIn('std::pmr throws', self.findings({'lib/buf/packet.hpp': '#include "mem/pmr/resource.hpp"\n'}))
        self.assertIn('std::pmr throws', self.findings({'lib/mem/pool.cpp': '#include "mem/pmr/resource.hpp"\n'}))
        self.assertIn('throw: no exceptions', self.findings({'lib/mem/pool.cpp': 'void f() { throw 1; }\n'}))

    def test_finds_a_row_that_names_a_higher_room(self):
        self.assertIn('env names port, which does not stand above it',
                      self.findings({'lib/meson.build': TABLE.replace("['env',      ['base']", "['env',      ['base', 'port']")}))

    def test_finds_a_folder_without_a_row_and_a_row_without_a_folder(self):
        said = self.findings({'lib/extra/x.hpp': '', 'lib/meson.build': TABLE.replace("\n]\n", "\n    ['ghost', [], [], {}],\n]\n")})
        self.assertIn('lib/extra has no row', said)
        self.assertIn('ghost has a row but no folder', said)

    def test_finds_includes_that_do_not_start_at_lib(self):
        self.assertIn('includes start at lib', self.findings({'lib/env/eal.cpp': '#include "eal.hpp"\n'}))
        self.assertIn('includes start at lib', self.findings({'lib/env/eal.cpp': '#include "../base/bytes.hpp"\n'}))
        self.assertIn('with quotes', self.findings({'lib/env/eal.cpp': '#include <base/bytes.hpp>\n'}))


if __name__ == '__main__':
    unittest.main()
