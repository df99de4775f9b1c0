"""HTTP/3 with programs that are none of ours: ngtcp2's gtlsclient and gtlsserver, over a veth in namespaces.

The cells are those of `scripts/interop --http3`, less what takes long; test/support/http3.py has them. Needs root; skips with the
reason where namespaces cannot be made or the programs are not there.
"""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'support'))
import http3    # noqa: E402
import interop  # noqa: E402


def with_cells(*names):
    """A test for each cell; they run in this order, so that one server serves many."""
    def decorate(of):
        cells = {cell.name: cell for cell in http3.CELLS}
        for number, name in enumerate(names):
            def test(self, cell=cells[name]):
                found = interop.check(self.pair, cell)
                self.assertEqual(found.result, 'ok', f'{found.note}\n{self.pair.said()}')
            word = ''.join(c if c.isalnum() else '_' for c in name)
            setattr(of, f'test_{number:02}_{word}', test)
        return of
    return decorate


class PairCase(unittest.TestCase):
    kind = None

    @classmethod
    def setUpClass(cls):
        reason = http3.missing()
        if reason:
            raise unittest.SkipTest(reason)
        cls.pair = cls.kind()
        reason = cls.pair.absent()
        if reason:
            raise unittest.SkipTest(reason)
        cls.addClassCleanup(cls.pair.__exit__, None, None, None)
        cls.addClassCleanup(cls.pair.finish)


@with_cells('handshake', 'transfer 10 MB', 'many requests', 'POST', 'resumption', '0-RTT', 'rebinding', 'migration',
            '5 % loss each way', 'retry')
class GtlsClient(PairCase):
    kind = http3.GtlsToMillrace


@with_cells('handshake', 'transfer 10 MB', 'many requests', 'POST', 'retry', '0-RTT', 'rebinding', '5 % loss each way')
class GtlsServer(PairCase):
    kind = http3.MillraceToGtls


del PairCase

if __name__ == '__main__':
    unittest.main()
