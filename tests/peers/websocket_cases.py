"""The gateway's WebSockets against Autobahn's own protocol classes (Debian's python3-autobahn), over the list of cases of
the Autobahn test suite, whose fuzzing client needs a Python that is no longer there.

    /usr/bin/python3 websocket_cases.py PORT

Each case is one connection: frames as the suite's case of that number sends them, made by the library (sendFrame, with
its switches for what it would refuse to send itself), and what the gateway must do: answer, or close with a code. Since
the gateway speaks its own protocol and echoes nothing, a case that the suite expects to be echoed must here be closed
with 1008 (well-formed, no request) or be answered; a ping by its pong. Prints TAP.
"""
import sys
from twisted.internet import reactor, defer
from autobahn.twisted.websocket import WebSocketClientFactory, WebSocketClientProtocol

PORT = int(sys.argv[1])
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
WELL = 1008  # read as a message, and no request of our protocol


def text(payload):
    return [dict(opcode=TEXT, payload=payload)]


def pieces(payload, size, opcode=TEXT):
    """The message in fragments of `size` bytes."""
    parts = [payload[i:i + size] for i in range(0, len(payload), size)] or [b'']
    return [dict(opcode=opcode if i == 0 else 0, fin=i == len(parts) - 1, payload=p) for i, p in enumerate(parts)]


def close(payload):
    return [dict(opcode=CLOSE, payload=payload)]


def code(n, reason=b''):
    return n.to_bytes(2, 'big') + reason


CASES = []  # (number, what, frames, wanted code, wanted pongs)


def case(number, what, frames, wanted, pongs=None, **options):
    CASES.append((number, what, frames, wanted, pongs, options))


# 1: framing. 65,536 bytes are the most before `connect`.
for i, n in enumerate((0, 125, 126, 127, 128, 65535, 65536), 1):
    case(f'1.1.{i}', f'a text of {n} bytes', text(b'*' * n), WELL)
    case(f'1.2.{i}', f'a binary of {n} bytes', [dict(opcode=BINARY, payload=b'\xfe' * n)], 1003)
case('1.1.8', 'a text of 65,536 bytes in pieces of 997 on the wire', text(b'*' * 65536), WELL, chop=997)
case('1.2.8', 'a binary of 65,536 bytes in pieces of 997', [dict(opcode=BINARY, payload=b'\xfe' * 65536)], 1003, chop=997)
# 2: pings and pongs
case('2.1', 'a ping without payload', [dict(opcode=PING)], None, [b''])
case('2.2', 'a ping with text', [dict(opcode=PING, payload=b'Hello, world!')], None, [b'Hello, world!'])
case('2.3', 'a ping with bytes', [dict(opcode=PING, payload=b'\x00\xff\xfe\xfd\xfc\xfb\x00\xff')], None, [b'\x00\xff\xfe\xfd\xfc\xfb\x00\xff'])
case('2.4', 'a ping of 125 bytes', [dict(opcode=PING, payload=b'\xfe' * 125)], None, [b'\xfe' * 125])
case('2.5', 'a ping of 126 bytes', [dict(opcode=PING, payload=b'\xfe' * 126)], 1002)
case('2.6', 'a ping of 125 bytes, a byte at a time', [dict(opcode=PING, payload=b'\xfe' * 125)], None, [b'\xfe' * 125], chop=1)
case('2.7', 'a pong that nobody asked for', [dict(opcode=PONG), dict(opcode=PING, payload=b'after')], None, [b'after'])
case('2.8', 'one with payload', [dict(opcode=PONG, payload=b'unsolicited'), dict(opcode=PING, payload=b'after')], None, [b'after'])
case('2.9', 'a pong, then a ping', [dict(opcode=PONG, payload=b'x'), dict(opcode=PING, payload=b'ping')], None, [b'ping'])
case('2.10', 'ten pings', [dict(opcode=PING, payload=b'%d' % i) for i in range(10)], None, [b'%d' % i for i in range(10)])
case('2.11', 'ten pings, a byte at a time', [dict(opcode=PING, payload=b'%d' % i) for i in range(10)], None, [b'%d' % i for i in range(10)], chop=1)
# 3: reserved bits
for i, rsv in enumerate((1, 2, 3, 4, 5, 6, 7), 1):
    opcode = {5: BINARY, 6: PING, 7: CLOSE}.get(i, TEXT)
    case(f'3.{i}', f'reserved bits {rsv}', [dict(opcode=opcode, payload=b'Hello' if opcode != CLOSE else b'', rsv=rsv)], 1002,
         chop=1 if i == 4 else None)
# 4: opcodes that there are not
for i, opcode in enumerate((3, 4, 5, 6, 7), 1):
    case(f'4.1.{i}', f'opcode {opcode}', [dict(opcode=opcode, payload=b'reserved' if i % 2 else b'')], 1002)
for i, opcode in enumerate((11, 12, 13, 14, 15), 1):
    case(f'4.2.{i}', f'opcode {opcode}', [dict(opcode=opcode, payload=b'reserved' if i % 2 else b'')], 1002)
# 5: fragments
frag = [dict(opcode=TEXT, fin=False, payload=b'fragment1'), dict(opcode=0, payload=b'fragment2')]
ping = [dict(opcode=PING, payload=b'ping')]
case('5.1', 'a ping in two fragments', [dict(opcode=PING, fin=False, payload=b'a'), dict(opcode=0, payload=b'b')], 1002)
case('5.2', 'a pong in two fragments', [dict(opcode=PONG, fin=False, payload=b'a'), dict(opcode=0, payload=b'b')], 1002)
for i, chop in ((3, None), (4, None), (5, 1)):
    case(f'5.{i}', 'a text in two fragments', frag, WELL, chop=chop)
for i, chop in ((6, None), (7, None), (8, 1)):
    case(f'5.{i}', 'with a ping between', [frag[0], *ping, frag[1]], WELL, [b'ping'], chop=chop)
for i, fin in ((9, True), (10, True), (11, True), (12, False), (13, False), (14, False)):
    case(f'5.{i}', f'a continuation of nothing, fin {fin}', [dict(opcode=0, fin=fin, payload=b'x'), *text(b'{}')], 1002,
         chop=1 if i in (11, 14) else None)
case('5.15', 'two fragments, then a continuation of nothing', [*frag, dict(opcode=0, fin=False, payload=b'x')], (1002, WELL))
case('5.16', 'continuations, then fragments', [dict(opcode=0, fin=False, payload=b'x'), *frag] * 2, 1002)
case('5.17', 'continuations with fin, then fragments', [dict(opcode=0, payload=b'x'), *frag] * 2, 1002)
case('5.18', 'two messages inside of one another', [dict(opcode=TEXT, fin=False, payload=b'a'), dict(opcode=TEXT, payload=b'b')], 1002)
five = [dict(opcode=TEXT if i == 0 else 0, fin=i == 4, payload=b'f%d' % i) for i in range(5)]
case('5.19', 'five fragments with pings between', [five[0], five[1], *ping, five[2], five[3], *ping, five[4]], WELL, [b'ping', b'ping'])
case('5.20', 'the same, a byte at a time', [five[0], five[1], *ping, five[2], five[3], *ping, five[4]], WELL, [b'ping', b'ping'], chop=1)
# 6: UTF-8. A valid text is well-formed, an invalid one is 1007, as early as it can be told.
case('6.1.1', 'an empty text', text(b''), WELL)
case('6.1.2', 'three empty fragments', pieces(b'', 1)[:0] + [dict(opcode=TEXT, fin=False), dict(opcode=0, fin=False), dict(opcode=0)], WELL)
case('6.1.3', 'an empty fragment, one with text, an empty one',
     [dict(opcode=TEXT, fin=False), dict(opcode=0, fin=False, payload=b'middle'), dict(opcode=0)], WELL)
greek = 'Hello-µ@ßöäüàá-UTF-8!!'.encode()
case('6.2.1', 'a valid text', text(greek), WELL)
case('6.2.2', 'in two fragments at a character', pieces(greek, 12), WELL)
case('6.2.3', 'a fragment for each byte', pieces(greek, 1), WELL)
case('6.2.4', 'a fragment for each byte of Greek', pieces('κόσμε'.encode(), 1), WELL)
bad = 'κόσμε'.encode() + b'\xed\xa0\x80' + b'edited'
case('6.3.1', 'an invalid text', text(bad), 1007)
case('6.3.2', 'a fragment for each of its bytes', pieces(bad, 1), 1007)
begin = 'κόσμε'.encode() + b'\xf4\x90\x80\x80' + b'edited'
for i, cut in ((1, 11), (2, 12), (3, 11), (4, 12)):
    parts = [dict(opcode=TEXT, fin=False, payload=begin[:cut]), dict(opcode=0, fin=False, payload=begin[cut:cut + 1]),
             dict(opcode=0, payload=begin[cut + 1:])]
    case(f'6.4.{i}', f'beyond Unicode, cut at {cut}', parts, 1007, chop=1 if i > 2 else None)
VALID = {
    '6.5': [b'\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5'[:n] for n in (2, 5, 7, 9, 11)],
    '6.7': [b'\x00', b'\xc2\x80', b'\xe0\xa0\x80', b'\xf0\x90\x80\x80'],
    '6.9': [b'\x7f', b'\xdf\xbf', b'\xef\xbf\xbf', b'\xf4\x8f\xbf\xbf'],
    '6.11': [b'\xed\x9f\xbf', b'\xee\x80\x80', b'\xef\xbf\xbd', b'\xf4\x8f\xbf\xbf', b'\xf0\xaf\xbf\xbf'],
    '6.22': [bytes(chr(c), 'utf-8') for base in (0xffff, 0x1ffff, 0x2ffff, 0x3ffff, 0x4ffff, 0x5ffff, 0x6ffff, 0x7ffff, 0x8ffff,
             0x9ffff, 0xaffff, 0xbffff, 0xcffff, 0xdffff, 0xeffff, 0xfffff, 0x10ffff) for c in (base - 1, base)],
    '6.23': [bytes(chr(c), 'utf-8') for c in (0xfff9, 0xfffa, 0xfffb, 0xfffc, 0xfffd, 0xfffe, 0xffff)],
}
INVALID = {
    '6.6': [b'\xce', b'\xce\xba\xe1', b'\xce\xba\xe1\xbd', b'\xce\xba\xe1\xbd\xb9\xcf', b'\xce\xba\xe1\xbd\xb9\xcf\x83\xce',
            b'\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce'],
    '6.8': [b'\xf8\x88\x80\x80\x80', b'\xfc\x84\x80\x80\x80\x80'],
    '6.10': [b'\xf7\xbf\xbf\xbf', b'\xfb\xbf\xbf\xbf\xbf', b'\xfd\xbf\xbf\xbf\xbf\xbf'],
    '6.12': [b'\x80', b'\xbf', b'\x80\xbf', b'\x80\xbf\x80', b'\x80\xbf\x80\xbf', b'\x80\xbf\x80\xbf\x80', b'\x80\xbf\x80\xbf\x80\xbf',
             bytes(range(0x80, 0xc0))],
    '6.13': [b''.join(bytes((c, 0x20)) for c in r) for r in (range(0xc0, 0xe0), range(0xe0, 0xf0), range(0xf0, 0xf8),
             range(0xf8, 0xfc), range(0xfc, 0xfe))],
    '6.14': [b'\xc0', b'\xe0\x80', b'\xf0\x80\x80', b'\xf8\x80\x80\x80', b'\xfc\x80\x80\x80\x80', b'\xdf', b'\xef\xbf',
             b'\xf7\xbf\xbf', b'\xfb\xbf\xbf\xbf', b'\xfd\xbf\xbf\xbf\xbf'],
    '6.15': [b'\xc0\xe0\x80\xf0\x80\x80\xf8\x80\x80\x80\xfc\x80\x80\x80\x80\xdf\xef\xbf\xf7\xbf\xbf\xfb\xbf\xbf\xbf\xfd\xbf\xbf\xbf\xbf'],
    '6.16': [b'\xfe', b'\xff', b'\xfe\xfe\xff\xff'],
    '6.17': [b'\xc0\xaf', b'\xe0\x80\xaf', b'\xf0\x80\x80\xaf', b'\xf8\x80\x80\x80\xaf', b'\xfc\x80\x80\x80\x80\xaf'],
    '6.18': [b'\xc1\xbf', b'\xe0\x9f\xbf', b'\xf0\x8f\xbf\xbf', b'\xf8\x87\xbf\xbf\xbf', b'\xfc\x83\xbf\xbf\xbf\xbf'],
    '6.19': [b'\xc0\x80', b'\xe0\x80\x80', b'\xf0\x80\x80\x80', b'\xf8\x80\x80\x80\x80', b'\xfc\x80\x80\x80\x80\x80'],
    '6.20': [b'\xed\xa0\x80', b'\xed\xad\xbf', b'\xed\xae\x80', b'\xed\xaf\xbf', b'\xed\xb0\x80', b'\xed\xbe\x80', b'\xed\xbf\xbf'],
    '6.21': [b'\xed\xa0\x80\xed\xb0\x80', b'\xed\xa0\x80\xed\xbf\xbf', b'\xed\xad\xbf\xed\xb0\x80', b'\xed\xad\xbf\xed\xbf\xbf',
             b'\xed\xae\x80\xed\xb0\x80', b'\xed\xae\x80\xed\xbf\xbf', b'\xed\xaf\xbf\xed\xb0\x80', b'\xed\xaf\xbf\xed\xbf\xbf'],
}
for group, texts in VALID.items():
    for i, t in enumerate(texts, 1):
        case(f'{group}.{i}', f'valid {t[:8].hex()}', text(t), WELL)
for group, texts in INVALID.items():
    for i, t in enumerate(texts, 1):
        case(f'{group}.{i}', f'invalid {t[:8].hex()}', text(t), 1007)
# 7: closing
case('7.1.1', 'a message, then a close', [*text(b'Hello'), *close(code(1000))], (WELL, 1000))
case('7.1.2', 'two closes', close(code(1000)) * 2, 1000)
case('7.1.3', 'a ping after a close', [*close(code(1000)), *ping], 1000, [])
case('7.1.4', 'a text after a close', [*close(code(1000)), *text(b'late')], 1000)
case('7.1.5', 'a close in the middle of a message', [frag[0], *close(code(1000)), frag[1]], 1000)
case('7.1.6', 'a large text, a close, a ping', [*text(b'B' * 60000), *close(code(1000)), *ping], (WELL, 1000), [])
case('7.3.1', 'a close without a code', close(b''), (1000, 1005, None))
case('7.3.2', 'a close of one byte', close(b'a'), 1002)
case('7.3.3', 'a close with a code', close(code(1000)), 1000)
case('7.3.4', 'with a reason', close(code(1000, b'Hello World!')), 1000)
case('7.3.5', 'with a reason of 123 bytes', close(code(1000, b'*' * 123)), 1000)
case('7.3.6', 'with one of 124 bytes', close(code(1000, b'*' * 124)), 1002)
case('7.5.1', 'a reason that is no UTF-8', close(code(1000, bad)), 1007)
for i, n in enumerate((1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999), 1):
    case(f'7.7.{i}', f'close code {n}', close(code(n)), n)
for i, n in enumerate((0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999), 1):
    case(f'7.9.{i}', f'close code {n}, which must not be sent', close(code(n)), 1002)
for i, n in enumerate((5000, 65535), 1):
    case(f'7.13.{i}', f'close code {n}', close(code(n)), (1002, n))
# 9: large messages, after `connect` no limit but 25 MiB: before it they end at 64 KiB
for i, n in enumerate((65537, 262144, 1048576), 1):
    case(f'9.1.{i}', f'{n} bytes before connect', text(b'*' * n), 1009)
    case(f'9.3.{i}', f'{n} bytes in fragments of 4,096', pieces(b'*' * n, 4096), 1009)
# 10: the wire cut anywhere
case('10.1.1', 'a text of 65,536 bytes in fragments of 1,300', pieces(b'*' * 65536, 1300), WELL)
# 12 and 13: compression is not offered, so that a client that offers it gets none (checked at each opening)


class Client(WebSocketClientProtocol):
    def onConnect(self, response):
        self.offered = response.extensions

    def onOpen(self):
        self.pongs, self.greeted = [], False

    def onMessage(self, payload, binary):
        if not self.greeted:
            self.greeted = True
            self.run()

    def run(self):
        number, what, frames, wanted, pongs, options = self.factory.case
        self.left = list(frames)
        self.go_on()
        if wanted is None:
            self.timer = reactor.callLater(10, self.dropConnection, True)

    def go_on(self):
        """Sends what is left; a ping inside of a message is waited for, since the message's end closes."""
        while self.left:
            frame = self.left.pop(0)
            self.sendFrame(chopsize=self.factory.case[5].get('chop'), **frame)
            if frame['opcode'] == PING and self.left and self.factory.case[3] == WELL:
                return

    def onPong(self, payload):
        self.pongs.append(payload)
        if self.left:
            self.go_on()
        elif self.factory.case[3] is None and self.pongs == self.factory.case[4]:
            self.factory.finish(self, None)
            self.timer.cancel()
            self.dropConnection(True)

    # what the gateway answered to a close of ours that the library would refuse to have sent
    def onCloseFrame(self, closed, raw):
        self.factory.finish(self, closed)
        self.dropConnection(True)

    def onClose(self, clean, closed, reason):
        self.factory.finish(self, closed)


class Factory(WebSocketClientFactory):
    protocol = Client

    def finish(self, client, closed):
        if not self.done.called:
            self.done.callback((closed, client.pongs, client.offered))

    def clientConnectionFailed(self, connector, reason):
        self.done.errback(reason)


@defer.inlineCallbacks
def main():
    failed = 0
    for n, (number, what, frames, wanted, pongs, options) in enumerate(CASES, 1):
        factory = Factory(f'ws://127.0.0.1:{PORT}/')
        factory.setProtocolOptions(failByDrop=False, openHandshakeTimeout=10, closeHandshakeTimeout=0)
        factory.case, factory.done = CASES[n - 1], defer.Deferred()
        factory.done.addTimeout(20, reactor)
        reactor.connectTCP('127.0.0.1', PORT, factory)
        try:
            closed, got, offered = yield factory.done
        except Exception as e:  # what went wrong is the point's text
            closed, got, offered = repr(e), [], []
        fine = closed in (wanted if isinstance(wanted, tuple) else (wanted,))
        fine = fine and (pongs is None or got == pongs) and not offered
        failed += not fine
        print(f'{"ok" if fine else "not ok"} {n} - {number} {what}', flush=True)
        if not fine:
            print(f'# wanted {wanted} {pongs}, got {closed} {got} {offered}', flush=True)
    print(f'1..{len(CASES)}')
    reactor.stop()
    main.failed = failed


def broken(failure):
    print(f'Bail out! {failure}')
    reactor.stop()


reactor.callWhenRunning(lambda: main().addErrback(broken))
reactor.run()
sys.exit(1 if getattr(main, 'failed', 1) else 0)
