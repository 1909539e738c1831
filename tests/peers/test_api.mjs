// npm telegram-test-api as a Telegram for our gateway: prints "listening URL", has one person write to the bot, and
// prints "answered: TEXT" for each answer.
//
//   node test_api.mjs NODE_MODULES
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';

const load = createRequire(join(resolve(process.argv[2]), 'x.js'));
const TelegramServer = load('telegram-test-api').default ?? load('telegram-test-api');
const port = await new Promise((done) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
        const free = probe.address().port;
        probe.close(() => done(free));
    });
});
const server = new TelegramServer({ port, host: '127.0.0.1', storeTimeout: 300 });
await server.start();
const client = server.getClient('4242:test', { userId: 1, chatId: 1, firstName: 'P', type: 'private', timeout: 60000 });
console.log(`listening http://127.0.0.1:${port}`);
await client.sendMessage(client.makeMessage('mock: say a second opinion'));
for (;;) {
    const updates = await client.getUpdates();
    for (const update of updates.result)
        console.log(`answered: ${update.message.text}`);
}
