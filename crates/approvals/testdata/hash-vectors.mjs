// Writes hash-vectors.json: approval hashes computed apart from the Rust code, with the JavaScript engine's own JSON.
// Run `node hash-vectors.mjs` in this folder after adding a case. Nothing runs it at build or test time.
//
// `documented` follows the documented rule. `qwenCode` follows what Qwen Code does with the same text: its sorted copy
// is an ordinary JavaScript object, it expands variables first, and it hashes `enabled` and `disabled`.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';

const sha256 = (text) => createHash('sha256').update(text).digest('hex');

const sortedText = (value) => {
  if (Array.isArray(value)) return `[${value.map(sortedText).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${sortedText(value[key])}`).join(',')}}`;
};

const sortedCopy = (value) => {
  if (Array.isArray(value)) return value.map(sortedCopy);
  if (value === null || typeof value !== 'object') return value;
  const copy = {};
  for (const key of Object.keys(value).sort()) copy[key] = sortedCopy(value[key]);
  return copy;
};

const withoutType = (entry) => {
  const { type, ...rest } = entry;
  if (entry.command || entry.httpUrl) return rest;
  if (typeof entry.url !== 'string') return entry;
  if (type !== 'http') return rest;
  const { url, ...others } = rest;
  return { ...others, httpUrl: url };
};

const without = (entry, names) =>
  Object.fromEntries(Object.entries(entry).filter(([key]) => !names.includes(key)));

const labels = ['scope', 'extensionName', 'description'];
const documented = (entry, dialect) =>
  sha256(sortedText(without(dialect === 'mcp-json' ? withoutType(entry) : entry, [...labels, 'enabled', 'disabled'])));
const qwenCode = (text, dialect, variables) => {
  const expanded = text.replace(/\$\{(\w+)\}/g, (whole, name) => variables?.[name] ?? whole);
  const entry = JSON.parse(expanded);
  return sha256(JSON.stringify(sortedCopy(without(dialect === 'mcp-json' ? withoutType(entry) : entry, labels))));
};

const both = ['settings', 'mcp-json'];
const equal = [
  ['an empty entry', both, '{}'],
  ['a command', both, '{"command":"node","args":["server.js"]}'],
  ['keys in another order', both, '{"args":["server.js"],"command":"node"}'],
  ['white space', both, '{ "command" : "node",\r\n\t"args": [ "server.js" ] }'],
  ['escaped characters', both, '{"comm\\u0061nd":"n\\u006fde","args":["server\\u002ejs"]}'],
  ['labels at the top', both, '{"command":"node","args":["server.js"],"description":"d","scope":"user","extensionName":"e"}'],
  ['labels further down', both, '{"command":"node","env":{"description":"d","scope":"s","extensionName":"e","enabled":"1","disabled":"2"}}'],
  ['an empty args', both, '{"command":"node","args":[]}'],
  ['an empty env', both, '{"command":"node","env":{}}'],
  ['every field of a stdio entry', both,
    '{"command":"npx","args":["-y","@acme/server@1.2.3","--root","."],"env":{"A":"1","B":"2"},"cwd":"/srv/x","timeout":30000,"discoveryTimeoutMs":5000,"trust":true,"includeTools":["a","b"],"excludeTools":[],"alwaysLoadTools":["a"],"type":"stdio"}'],
  ['every field of a remote entry', both,
    '{"httpUrl":"https://api.example/mcp?x=1","headers":{"Authorization":"Bearer abc","X-A":"b"},"oauth":{"enabled":true,"clientId":"c","scopes":["b","a"]},"authProviderType":"google_credentials","targetAudience":"t","targetServiceAccount":"s","type":"http","timeout":10.5}'],
  ['url and type http', both, '{"type":"http","url":"https://api.example/mcp","headers":{"A":"b"}}'],
  ['url and type sse', both, '{"type":"sse","url":"https://api.example/sse"}'],
  ['url alone', both, '{"url":"https://api.example/sse"}'],
  ['url and type HTTP in capitals', both, '{"type":"HTTP","url":"https://api.example/mcp"}'],
  ['url and type streamable-http', both, '{"type":"streamable-http","url":"https://api.example/mcp"}'],
  ['httpUrl and url', both, '{"type":"http","httpUrl":"https://api.example/mcp","url":"https://api.example/sse"}'],
  ['command and url', both, '{"type":"http","command":"node","url":"https://api.example/sse"}'],
  ['an empty command beside a url', both, '{"type":"http","command":"","url":"https://api.example/sse"}'],
  ['serverUrl', both, '{"type":"http","serverUrl":"https://api.example/mcp"}'],
  ['a type alone', both, '{"type":"stdio"}'],
  ['a type that is not text', both, '{"type":{"http":1},"url":"https://api.example/mcp"}'],
  ['a type further down', both, '{"command":"node","env":{"type":"http"}}'],
  ['unknown fields', both, '{"command":"node","x-note":{"b":[{"d":1,"c":null}],"a":false}}'],
  ['numbers', both,
    '{"command":"n","a":1,"b":1.0,"c":1e3,"d":-0,"e":0.1,"f":1e21,"g":1e-7,"i":9007199254740993,"j":-1.50,"k":0.000001,"l":100e-2,"m":18446744073709551615}'],
  ['characters that need care', both,
    '{"command":"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f \\"\\\\\\/\\u007f\\u0080\\u2028\\u2029\\ufeff\\ud83d\\ude00é漢"}'],
  ['keys sorted by UTF-16 code units', both,
    '{"command":"n","env":{"\\ufb01":"1","\\ud83d\\ude00":"2","z":"3","Z":"4","é":"5","_":"6","\\uffff":"7","":"8","a b":"9"}}'],
  ['deep nesting', both, `{"command":"n","x":${'['.repeat(40)}{"b":1,"a":2}${']'.repeat(40)}}`],
];
const unequal = [
  ['enabled', both, '{"command":"node","enabled":true}'],
  ['disabled', both, '{"command":"node","disabled":false}'],
  ['an integer-like key', both, '{"command":"node","env":{"B":"1","10":"2","9":"3","!":"4"}}'],
  ['the key __proto__', both, '{"command":"node","env":{"__proto__":{"a":"1"},"B":"2"}}'],
  ['a variable', both, '{"command":"node","env":{"TOKEN":"${TOKEN}"}}', { TOKEN: 'secret' }],
];

const vectors = [];
for (const [kind, cases] of [['equal', equal], ['unequal', unequal]]) {
  for (const [what, dialects, text, variables] of cases) {
    for (const dialect of dialects) {
      const vector = { what, dialect, text, documented: documented(JSON.parse(text), dialect), qwenCode: qwenCode(text, dialect, variables) };
      if ((vector.documented === vector.qwenCode) !== (kind === 'equal')) throw new Error(`${what} in ${dialect} is not ${kind}`);
      vectors.push(vector);
    }
  }
}
writeFileSync(new URL('hash-vectors.json', import.meta.url), `${JSON.stringify(vectors, null, 1)}\n`);
