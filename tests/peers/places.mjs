// The page in a real browser as the third place of a conversation (places_test.sh).
//
//   node places.mjs NODE_MODULES BROWSER PORT SECRET SHOT BEFORE LATER SAID
//
// Opens the page and prints "seen BEFORE" when that stands in the conversation, "seen LATER" when it came without
// anybody touching the page, and "answered SAID" after saying SAID itself; leaves a picture in SHOT.
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const [modules, executablePath, port, secret, shot, before, later, said] = process.argv.slice(2);
const { chromium } = createRequire(join(resolve(modules), 'x.js'))('playwright-core');
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--force-prefers-reduced-motion'] });
const page = await browser.newPage();
await page.goto(`http://127.0.0.1:${port}/`);
await page.waitForSelector('#login[open]');
await page.fill('#secret', secret);
await page.press('#secret', 'Enter');
await page.waitForSelector('html[data-ready]');
const answer = (text) => page.locator('.message.assistant', { hasText: text }).waitFor();
await answer(before);
console.log(`seen ${before}`);
await answer(later);
console.log(`seen ${later}`);
await page.fill('#input', `mock: say ${said}`);
await page.press('#input', 'Enter');
await answer(said);
await page.screenshot({ path: shot });
console.log(`answered ${said}`);
await browser.close();
