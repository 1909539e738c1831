// What the page says, in English and Chinese. t(key, values): "{name}" is filled in.
const en = {
    new: 'New conversation', find: 'Search', settings: 'Settings', menu: 'Conversations', skip: 'Skip to the message', close: 'Close',
    connected: 'connected', connecting: 'connecting', lost: 'offline, trying again', refused: 'not let in', send: 'Send', stop: 'Stop', attach: 'Attach files',
    placeholder: 'Message Chela', hint: 'Enter sends, Shift+Enter breaks the line, / for commands', hintRuns: 'Esc stops', trace: 'Trace and log', model: 'Model', modelAuto: 'automatic',
    today: 'Today', yesterday: 'Yesterday', week: 'This week', earlier: 'Earlier', pinned: 'Pinned', archived: 'Archived',
    rename: 'Rename', pin: 'Pin', unpin: 'Unpin', archive: 'Archive', unarchive: 'Take back from the archive', delete: 'Delete', deleted: 'Conversation deleted.', undo: 'Undo', more: 'More for {name}', untitled: 'Conversation',
    copy: 'Copy', copied: 'Copied', edit: 'Edit', again: 'Send again', retry: 'Try again', otherModel: 'Another model', you: 'You', assistant: 'Chela',
    sending: 'sending', waiting: 'waiting for {model}', waitingAny: 'waiting for the model', thinking: 'Thinking', thought: 'Thought', seconds: '{n} s', writing: 'writing', toolRuns: '{name} runs', waitsForYou: 'waits for your decision',
    stopped: 'Stopped.', failed: 'It failed: {why}', done: 'done', error: 'failed', running: 'running', open: 'waiting', arguments: 'Arguments', output: 'Output', noOutput: 'no output',
    asks: '{tool} asks to run', risk: 'risk: {risk}', low: 'low', medium: 'medium', high: 'high', folder: 'folder', binary: 'program', warnings: 'mind', allowOnce: 'Allow once', allowAlways: 'Always', deny: 'Deny', expires: 'expires in {time}', session: 'conversation',
    decidedAllow: 'Allowed by {who}', decidedAlways: 'Always allowed by {who}', decidedDeny: 'Denied by {who}', decidedGone: 'Expired: not run.', approvalTitle: 'Decision wanted', approvalNote: '{tool} asks to run: {what}',
    latest: 'Latest', latestN: '{n} new', emptyTitle: 'What shall we do?', try1: 'List the files here and tell me what they are', try2: 'Explain the last error in my log', try3: 'Write a shell script that backs up a folder', addModel: 'How do I add a model? See Settings, or set a key and run: chela onboard',
    loginTitle: 'Who are you?', loginHelp: 'Run "chela dashboard" to open this page with a link that knows you, or paste the gateway\'s token here. It stands in gateway.token in the state folder.', token: 'Token or password', enter: 'Enter', wrong: 'This is not the gateway\'s secret.', locked: 'Too many wrong tries; wait five minutes.', pairing: 'This browser waits to be let in. On the gateway\'s machine: chela devices approve {id}',
    palette: 'Search conversations, commands, models', contents: 'Contents', command: 'command', nothing: 'Nothing found.', remove: 'Remove {name}', tooLarge: '{name} is larger than {mb} MB.',
    general: 'This page', theme: 'Colours', auto: 'as the system', dark: 'dark', light: 'light', language: 'Language', enterSends: 'Enter sends', notify: 'Notify when the page is hidden', showTools: 'Unfold tool cards while they run', save: 'Save', saved: 'Saved.', review: 'Show what changes', changes: 'What changes', from: 'from {origin}', secretSet: 'set; type to replace', secretUnset: 'not set', required: 'required', unsaved: 'The change was not saved: {why}', nothingChanged: 'Nothing has changed.', needsRestart: 'Some of it counts from the next start on.',
    log: 'Log', leg_channel: 'Channel', leg_gateway: 'Gateway', leg_router: 'Router', leg_session: 'Session', leg_tool: 'Tools', leg_provider: 'Provider', leg_reply: 'Reply', noRun: 'No run in this conversation yet.', run: 'Run', totals: '{in} in, {out} out',
    finished: 'Chela has answered.', image: 'picture', file: 'file {name}', newer: 'A newer page is there.', reload: 'Reload',
};
const zh = {
    new: '新对话', find: '搜索', settings: '设置', menu: '对话列表', skip: '跳到输入框', close: '关闭',
    connected: '已连接', connecting: '连接中', lost: '已断开，正在重试', refused: '未获准进入', send: '发送', stop: '停止', attach: '添加文件',
    placeholder: '给 Chela 发消息', hint: 'Enter 发送，Shift+Enter 换行，/ 查看命令', hintRuns: 'Esc 停止', trace: '追踪与日志', model: '模型', modelAuto: '自动',
    today: '今天', yesterday: '昨天', week: '本周', earlier: '更早', pinned: '已置顶', archived: '已归档',
    rename: '重命名', pin: '置顶', unpin: '取消置顶', archive: '归档', unarchive: '取消归档', delete: '删除', deleted: '对话已删除。', undo: '撤销', more: '{name} 的更多操作', untitled: '对话',
    copy: '复制', copied: '已复制', edit: '编辑', again: '重新发送', retry: '重试', otherModel: '换个模型', you: '你', assistant: 'Chela',
    sending: '发送中', waiting: '等待 {model}', waitingAny: '等待模型', thinking: '思考中', thought: '思考过程', seconds: '{n} 秒', writing: '书写中', toolRuns: '{name} 运行中', waitsForYou: '等待你的决定',
    stopped: '已停止。', failed: '失败：{why}', done: '完成', error: '失败', running: '运行中', open: '等待中', arguments: '参数', output: '输出', noOutput: '没有输出',
    asks: '{tool} 请求运行', risk: '风险：{risk}', low: '低', medium: '中', high: '高', folder: '目录', binary: '程序', warnings: '注意', allowOnce: '允许一次', allowAlways: '始终允许', deny: '拒绝', expires: '{time} 后过期', session: '对话',
    decidedAllow: '{who} 已允许', decidedAlways: '{who} 已始终允许', decidedDeny: '{who} 已拒绝', decidedGone: '已过期，未运行。', approvalTitle: '需要你的决定', approvalNote: '{tool} 请求运行：{what}',
    latest: '最新', latestN: '{n} 条新内容', emptyTitle: '想做点什么？', try1: '列出这里的文件并说明它们是什么', try2: '解释我日志里的最后一个错误', try3: '写一个备份文件夹的 shell 脚本', addModel: '如何添加模型？见“设置”，或设置密钥后运行：chela onboard',
    loginTitle: '你是谁？', loginHelp: '运行 "chela dashboard" 用带凭据的链接打开本页，或在此粘贴网关令牌（状态目录中的 gateway.token）。', token: '令牌或密码', enter: '进入', wrong: '这不是网关的密钥。', locked: '错误次数过多，请等待五分钟。', pairing: '此浏览器等待批准。请在网关所在机器上运行：chela devices approve {id}',
    palette: '搜索对话、命令、模型', contents: '内容', command: '命令', nothing: '没有结果。', remove: '移除 {name}', tooLarge: '{name} 超过 {mb} MB。',
    general: '本页', theme: '颜色', auto: '跟随系统', dark: '深色', light: '浅色', language: '语言', enterSends: 'Enter 发送', notify: '页面隐藏时通知', showTools: '运行时展开工具卡片', save: '保存', saved: '已保存。', review: '查看更改', changes: '将会改变', from: '来自 {origin}', secretSet: '已设置；输入以替换', secretUnset: '未设置', required: '必填', unsaved: '未保存：{why}', nothingChanged: '没有变化。', needsRestart: '部分设置下次启动时生效。',
    log: '日志', leg_channel: '渠道', leg_gateway: '网关', leg_router: '路由', leg_session: '会话', leg_tool: '工具', leg_provider: '模型服务', leg_reply: '回复', noRun: '此对话还没有运行。', run: '运行', totals: '输入 {in}，输出 {out}',
    finished: 'Chela 已回答。', image: '图片', file: '文件 {name}', newer: '页面有新版本。', reload: '重新加载',
};
const rtl = new Set(['ar', 'he', 'fa', 'ur']);

export const languages = { en: 'English', zh: '中文' };
export let language = localStorage.getItem('chela.language') || (navigator.language.startsWith('zh') ? 'zh' : 'en');

export function t(key, values) {
    const text = (language === 'zh' ? zh : en)[key] ?? en[key] ?? key;
    return values ? text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '') : text;
}

export function useLanguage(name) {
    language = name;
    localStorage.setItem('chela.language', name);
    document.documentElement.lang = name === 'zh' ? 'zh-CN' : 'en';
    // the words are left to right; a reader of a right-to-left language may still turn the page around
    document.documentElement.dir = rtl.has((navigator.language || '').slice(0, 2)) ? 'rtl' : 'ltr';
}
