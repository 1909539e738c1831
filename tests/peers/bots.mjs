// The usual npm clients of Telegram and Discord against our fakes: prints "ok NAME" or "not ok NAME: why" for each point.
//
//   node bots.mjs telegram|discord NODE_MODULES FAKE_URL
//
// What holds for them holds for the service as far as their authors know it; then our own channels meet the same fakes.
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import assert from 'node:assert/strict';

const [which, modules, fake] = process.argv.slice(2);
const load = createRequire(join(resolve(modules), 'x.js'));
let failed = 0;

async function point(name, run) {
    try {
        await run();
        console.log(`ok ${name}`);
    } catch (error) {
        failed += 1;
        console.log(`not ok ${name}: ${String(error.stack ?? error).split('\n').slice(0, 6).join(' | ')}`);
    }
}

async function control(what, body) {
    const r = await fetch(`${fake}/control/${what}`, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body ?? {}) });
    assert.equal(r.status, 200);
}

// The next event of this name; an error instead of it fails the point.
function next(emitter, name) {
    return new Promise((done, fail) => {
        const late = setTimeout(() => fail(new Error(`no ${name} within 20 s`)), 20000);
        emitter.once(name, (...values) => {
            clearTimeout(late);
            done(values.length > 1 ? values : values[0]);
        });
    });
}

async function telegram() {
    const { Bot, GrammyError, InputFile, InlineKeyboard, InputMediaBuilder } = load('grammy');
    const bot = new Bot('4242:test', { client: { apiRoot: fake } });
    const { EventEmitter } = await import('node:events');
    const events = new EventEmitter();
    const from = { id: 1, is_bot: false, first_name: 'P' }, chat = { id: 1, type: 'private', first_name: 'P' };
    const refused = (run) => assert.rejects(run, GrammyError).then(() => run().catch((e) => e));

    bot.on('message:text', async (context) => {
        await context.reply(`<b>${context.message.text}</b>`, { parse_mode: 'HTML' });
        events.emit('text', context.message.text);
    });
    bot.on('message:photo', (context) => events.emit('photo', context));
    bot.on('edited_message', (context) => events.emit('edited', context.editedMessage.text));
    bot.on('callback_query:data', async (context) => {
        await context.answerCallbackQuery();
        events.emit('pressed', context.callbackQuery.data);
    });
    bot.on('message_reaction', (context) => events.emit('reaction', context.messageReaction.new_reaction[0].emoji));
    bot.catch((error) => console.log(`# ${error}`));

    await point('the bot knows itself', async () => {
        await bot.init();
        assert.equal(bot.botInfo.username, 'chela_bot');
    });
    const running = bot.start({ timeout: 5, allowed_updates: ['message', 'edited_message', 'callback_query', 'message_reaction'] });
    await point('an update comes by the long poll, and is answered', async () => {
        const came = next(events, 'text');
        await control('update', { message: { message_id: 1, date: 1700000001, from, chat, text: 'hello' } });
        assert.equal(await came, 'hello');
    });
    await point('each update comes once', async () => {
        let count = 0;
        events.on('text', () => { count += 1; });
        const came = next(events, 'text');
        await control('update', { message: { message_id: 2, date: 1700000001, from, chat, text: 'again' } });
        await came;
        assert.equal(count, 1);
    });
    await point('an edit, a press and a reaction come', async () => {
        const edited = next(events, 'edited'), pressed = next(events, 'pressed'), reaction = next(events, 'reaction');
        await control('update', { edited_message: { message_id: 1, date: 1700000001, edit_date: 1700000002, from, chat, text: 'changed' } });
        await control('update', { callback_query: { id: 'q', from, chat_instance: 'x', data: 'yes', message: { message_id: 1, date: 1, chat } } });
        await control('update', { message_reaction: { chat, message_id: 1, user: from, date: 1, old_reaction: [], new_reaction: [{ type: 'emoji', emoji: '👍' }] } });
        assert.deepEqual(await Promise.all([edited, pressed, reaction]), ['changed', 'yes', '👍']);
    });
    await point('a picture is named, and its bytes are there', async () => {
        await control('file?path=pic', 'PICTURE');
        const came = next(events, 'photo');
        await control('update', { message: { message_id: 3, date: 1, from, chat, caption: 'look', photo: [{ file_id: 'pic', file_unique_id: 'p', width: 1, height: 1 }] } });
        const file = await (await came).getFile();
        const r = await fetch(`${fake}/file/bot4242:test/${file.file_path}`);
        assert.equal(await r.text(), 'PICTURE');
    });
    await point('a message is sent with buttons, edited, and not twice to the same', async () => {
        const m = await bot.api.sendMessage(1, 'one', { reply_markup: new InlineKeyboard().text('Yes', 'y') });
        await bot.api.editMessageText(1, m.message_id, 'two');
        const error = await refused(() => bot.api.editMessageText(1, m.message_id, 'two'));
        assert.match(error.description, /not modified/);
    });
    await point('files go up by multipart, several as an album', async () => {
        await bot.api.sendDocument(1, new InputFile(Buffer.from('BYTES'), 'a.txt'), { caption: 'c' });
        const list = await bot.api.sendMediaGroup(1, [1, 2].map((n) => InputMediaBuilder.photo(new InputFile(Buffer.from('P'), `${n}.png`))));
        assert.equal(list.length, 2);
    });
    await point('marks that are wrong are refused as Telegram does', async () => {
        const error = await refused(() => bot.api.sendMessage(1, '<b>open', { parse_mode: 'HTML' }));
        assert.match(error.description, /can't parse entities/);
    });
    await point('429 says how long to wait', async () => {
        await control('fail?method=sendMessage&count=2', { ok: false, error_code: 429, description: 'Too Many Requests: retry after 3', parameters: { retry_after: 3 } });
        assert.equal((await refused(() => bot.api.sendMessage(1, 'x'))).parameters.retry_after, 3);
    });
    await point('the menu, typing and a webhook are taken', async () => {
        await bot.api.setMyCommands([{ command: 'help', description: 'what you can type' }]);
        await bot.api.sendChatAction(1, 'typing');
        await bot.api.setWebhook('https://gateway.example/x', { secret_token: 's' });
        await bot.api.deleteWebhook();
    });
    await bot.stop();
    await running;
    await point('a second poller ends the first one by 409', async () => {
        const poll = () => new Bot('4242:test', { client: { apiRoot: fake } }).api.getUpdates({ timeout: 3, offset: 1000 });
        const ends = await Promise.allSettled([poll(), poll()]); // in whichever order they arrive
        assert.deepEqual(ends.map((e) => e.reason?.error_code ?? 0).sort(), [0, 409]);
    });
    await point('a wrong token is 401', async () => {
        const error = await new Bot('1:wrong', { client: { apiRoot: fake } }).api.getMe().catch((e) => e);
        assert.equal(error.error_code, 401);
    });
}

async function discord() {
    const { Client, GatewayIntentBits, Partials, Events, ActionRowBuilder, ButtonBuilder, ButtonStyle, AttachmentBuilder, ChannelType, DiscordAPIError } =
        load('discord.js');
    const options = {
        intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages, GatewayIntentBits.DirectMessages, GatewayIntentBits.MessageContent,
            GatewayIntentBits.GuildMessageReactions, GatewayIntentBits.DirectMessageReactions],
        partials: [Partials.Channel, Partials.Message],
        rest: { api: `${fake}/api`, retries: 0 },
        allowedMentions: { parse: [] },
    };
    const client = new Client(options);
    client.on('error', (error) => console.log(`# ${error}`));
    let ids = 1193042892980190000n;
    const id = () => String(ids += 1n);
    const author = { id: '7', username: 'anna', discriminator: '0', global_name: 'Anna', avatar: null };
    const message = (channel, content, more) => ({
        id: id(), channel_id: channel, type: 0, author, content, timestamp: '2024-01-06T04:06:31.000000+00:00', edited_timestamp: null, tts: false,
        mention_everyone: false, mentions: [], mention_roles: [], attachments: [], embeds: [], pinned: false, ...more,
    });
    const guild = { guild_id: '1', member: { roles: [], joined_at: '2024-01-01T00:00:00+00:00', deaf: false, mute: false, flags: 0 } };

    // Discord tells a bot of its own messages, too, at any time.
    const said = async (content) => {
        for (;;) {
            const m = await next(client, Events.MessageCreate);
            if (m.content === content)
                return m;
        }
    };

    await point('the bot logs in by the gateway over TLS, and gets its guild', async () => {
        const ready = next(client, Events.ClientReady);
        await client.login('token-1');
        await ready;
        assert.equal(client.user.id, '4242');
        await (client.guilds.cache.has('1') && client.guilds.cache.get('1').available ? null : next(client, Events.GuildAvailable));
        assert.equal(client.channels.cache.get('50').name, 'general');
        assert.equal(client.channels.cache.get('55').type, ChannelType.PublicThread);
        assert.equal(client.channels.cache.get('55').parentId, '50');
    });
    await point('the heart beats, and is answered', async () => {
        const wait = Date.now() + 20000;
        while (client.ws.ping < 0 && Date.now() < wait)
            await next(client, 'debug');
        assert(client.ws.ping >= 0);
    });
    await point('a message of a guild comes, and is answered in its thread', async () => {
        const came = said('hello');
        await control('event?t=MESSAGE_CREATE', message('55', 'hello', guild));
        const m = await came;
        assert.equal(m.content, 'hello');
        assert(m.channel.isThread());
        const sent = await m.reply({ content: 'answer', failIfNotExists: false });
        assert.equal(sent.content, 'answer');
        const edited = await sent.edit('answer, longer');
        assert.equal(edited.content, 'answer, longer');
        await m.channel.sendTyping();
    });
    await point('a nonce that is enforced gives the same message', async () => {
        const channel = client.channels.cache.get('50');
        const a = await channel.send({ content: 'once', nonce: 'n1', enforceNonce: true });
        const b = await channel.send({ content: 'once', nonce: 'n1', enforceNonce: true });
        assert.equal(a.id, b.id);
    });
    await point('the history has what was said, the newest first', async () => {
        const channel = client.channels.cache.get('50');
        const first = await channel.send('first'), second = await channel.send('second');
        const list = await channel.messages.fetch({ after: first.id, limit: 10 });
        assert.deepEqual([...list.keys()], [second.id]);
    });
    await point('buttons are shown, a press comes and takes them away', async () => {
        const row = new ActionRowBuilder().addComponents(new ButtonBuilder().setCustomId('yes').setLabel('Yes').setStyle(ButtonStyle.Secondary));
        const channel = client.channels.cache.get('50'), m = await channel.send({ content: 'sure?', components: [row] });
        const came = next(client, Events.InteractionCreate);
        await control('event?t=INTERACTION_CREATE', {
            id: id(), application_id: '4343', type: 3, token: 'tok', version: 1, channel_id: '50', channel: { id: '50', type: 0 }, ...guild,
            member: { ...guild.member, user: author, permissions: '0' }, message: message('50', 'sure?', { id: m.id }),
            data: { custom_id: 'yes', component_type: 2 }, entitlements: [], authorizing_integration_owners: {}, locale: 'en-US', app_permissions: '0', attachment_size_limit: 1,
        });
        const press = await came;
        assert.equal(press.customId, 'yes');
        await press.update({ components: [] });
    });
    await point('slash commands are taken, and one that is given comes', async () => {
        await client.application.commands.set([]);
        const came = next(client, Events.InteractionCreate);
        await control('event?t=INTERACTION_CREATE', {
            id: id(), application_id: '4343', type: 2, token: 'tok', version: 1, channel_id: '50', channel: { id: '50', type: 0 }, ...guild,
            member: { ...guild.member, user: author, permissions: '0' }, data: { id: '9', name: 'status', type: 1, options: [] },
            entitlements: [], authorizing_integration_owners: {}, locale: 'en-US', app_permissions: '0', attachment_size_limit: 1,
        });
        const command = await came;
        assert.equal(command.commandName, 'status');
        await command.reply({ content: 'here', flags: 64 });
    });
    await point('files go up by multipart, and come down', async () => {
        const channel = client.channels.cache.get('50');
        await channel.send({ content: 'file', files: [new AttachmentBuilder(Buffer.from('BYTES'), { name: 'a.txt' })] });
        await control('file?path=a/b.png', 'PICTURE');
        const came = said('look');
        await control('event?t=MESSAGE_CREATE', message('50', 'look', { ...guild, attachments: [{ id: '1', filename: 'b.png', size: 7, url: `${fake}/cdn/a/b.png`, proxy_url: `${fake}/cdn/a/b.png`, content_type: 'image/png' }] }));
        const r = await fetch((await came).attachments.first().url);
        assert.equal(await r.text(), 'PICTURE');
    });
    await point('429 says how long, and that it is for a route', async () => {
        const channel = client.channels.cache.get('50'), began = Date.now();
        await control('fail?method=POST&path=/channels/50/messages', { status: 429, body: { message: 'You are being rate limited.', retry_after: 0.2, global: false }, headers: { 'Retry-After': '0.2', 'X-RateLimit-Scope': 'user' } });
        await channel.send('patience');
        assert(Date.now() - began >= 190);
        await control('bucket?limit=1&ms=400');
        const limited = next(client.rest, 'rateLimited');
        await Promise.all([channel.send('one'), channel.send('two'), channel.send('three')]);
        assert.equal((await limited).global, false);
        await control('bucket?limit=1000&ms=1000');
    });
    await point('a refusal has Discord\'s form', async () => {
        await control('fail?method=POST&path=/channels/50/messages', { status: 403, body: { message: 'Cannot send messages to this user', code: 50007 } });
        const error = await client.channels.cache.get('50').send('x').catch((e) => e);
        assert(error instanceof DiscordAPIError && error.code === 50007, String(error));
    });
    await point('op 7 and a close are followed by a resume, with what was missed', async () => {
        for (const how of ['gateway?do=reconnect', 'gateway?do=close&value=4000']) {
            const resumed = next(client, Events.ShardResume), came = said(how);
            await control(how);
            await control('event?t=MESSAGE_CREATE', message('50', how, guild));
            await resumed;
            assert.equal((await came).content, how);
        }
    });
    await point('an invalid session is begun anew', async () => {
        const ready = next(client, Events.ShardReady);
        await control('gateway?do=invalid&value=0');
        await ready;
    });
    await client.destroy();
    await point('a wrong token ends by 401', async () => {
        const other = new Client(options);
        await assert.rejects(other.login('token-2'), /invalid token/i);
        await other.destroy();
    });
}

await { telegram, discord }[which]();
process.exit(failed ? 1 : 0);
