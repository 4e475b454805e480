"""What rust-analyzer says inside bodies of products: `python3 rust_analyzer.py ROOT [CRATE]`, with the components rust-analyzer and rust-src.

It opens a crate of the workspace over LSP, with more text put into a body in memory, and asks for types (hover) and completions there. Ends
with 1 where one of them is not what rustc would say."""
import json, os, re, subprocess, sys, threading, time

root = os.path.abspath(sys.argv[1])
crate = sys.argv[2] if len(sys.argv) > 2 else 'transformer-mlp'
path = f'{root}/examples/{crate}/src/main.rs'
uri = f'file://{path}'
build = ['cargo', 'check', '--quiet', '-p', crate, '--message-format=json']
options = {
    'linkedProjects': [f'{root}/Cargo.toml'], 'checkOnSave': False, 'cachePriming': {'enable': False},
    'cargo': {'extraEnv': {'AUTOKERNEL_SKIP_NVCC': '1'}, 'buildScripts': {'enable': True, 'overrideCommand': build}},
    'procMacro': {'enable': True, 'attributes': {'enable': True}},
}

BODY = 'out = x + scale * dot(hidden, w.t());'
# what is asked, the body's text with the place marked, what must be in the answer
ASKED = [
    ('hover', 'let raised = scale * dot(hidden, w.t()); out = x + ra|ised;', ['f32']),
    ('hover', 'out = x + sc|ale * dot(hidden, w.t());', ['f32']),
    ('hover', 'out = x + gelu_t|anh(scale * dot(hidden, w.t()));', ['fn gelu_tanh', 'f32']),
    ('hover', 'out = x + (scale * dot(hidden, w.t())).ma|x(0.0);', ['fn max', 'f32']),
    ('completion', 'out = x + sca|', ['scale']),
    ('completion', 'out = x + scale * d|', ['dot']),
    ('completion', 'out = x + gel|', ['gelu', 'gelu_tanh']),
    ('completion', 'let raised = scale * dot(hidden, w.t()); out = x + rai|', ['raised']),
    ('completion', 'let raised = scale * dot(hidden, w.t()); out = x + raised.m|', ['max', 'min']),
]


class Server:
    def __init__(self):
        self.process = subprocess.Popen(['rust-analyzer'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root)
        self.number, self.answers, self.status, self.lock = 0, {}, {}, threading.Lock()
        threading.Thread(target=self.read, daemon=True).start()

    def send(self, message):
        text = json.dumps({'jsonrpc': '2.0', **message}).encode()
        with self.lock:
            self.process.stdin.write(b'Content-Length: %d\r\n\r\n' % len(text) + text)
            self.process.stdin.flush()

    def read(self):
        out = self.process.stdout
        while True:
            length = None
            while (line := out.readline().strip()):
                if line.lower().startswith(b'content-length'): length = int(line.split(b':')[1])
            if length is None: return
            message = json.loads(out.read(length))
            method = message.get('method')
            if method and 'id' in message:
                items = message.get('params', {}).get('items') if method == 'workspace/configuration' else None
                self.send({'id': message['id'], 'result': [options for _ in items] if items is not None else None})
            elif method == 'experimental/serverStatus': self.status = message['params']
            elif method: pass
            else: self.answers[message['id']] = message

    def ask(self, method, params, limit=300):
        self.number += 1
        number = self.number
        self.send({'id': number, 'method': method, 'params': params})
        begin = time.time()
        while number not in self.answers:
            if time.time() - begin > limit: raise SystemExit(f'{method}: no answer')
            time.sleep(0.02)
        answer = self.answers.pop(number)
        if 'error' in answer and answer['error']['code'] in (-32801, -32802): return self.ask(method, params, limit)
        return answer.get('result')


server = Server()
print(subprocess.run(['rust-analyzer', '--version'], capture_output=True, text=True).stdout.strip())
server.ask('initialize', {'processId': os.getpid(), 'rootUri': f'file://{root}', 'initializationOptions': options, 'capabilities': {
    'experimental': {'serverStatusNotification': True}, 'workspace': {'configuration': True},
    'textDocument': {'completion': {'completionItem': {}}, 'hover': {'contentFormat': ['plaintext']}}}})
server.send({'method': 'initialized', 'params': {}})
source = open(path).read()
assert source.count(BODY) == 1
server.send({'method': 'textDocument/didOpen', 'params': {'textDocument': {'uri': uri, 'languageId': 'rust', 'version': 1, 'text': source}}})
begin = time.time()
while not server.status.get('quiescent'):
    if time.time() - begin > 900: raise SystemExit(f'not loaded: {server.status}')
    time.sleep(0.2)
print(f'loaded, {server.status.get("health")}: {server.status.get("message")}')

wrong = 0
for version, (asked, body, wanted) in enumerate(ASKED, 2):
    text = source.replace(BODY, body)
    at = text.index('|', source.index(BODY) - 1)
    line, column = text.count('\n', 0, at), at - text.rindex('\n', 0, at) - 1
    text = text[:at] + text[at + 1:]
    server.send({'method': 'textDocument/didChange', 'params': {'textDocument': {'uri': uri, 'version': version}, 'contentChanges': [{'text': text}]}})
    result = server.ask(f'textDocument/{asked}', {'textDocument': {'uri': uri}, 'position': {'line': line, 'character': column}})
    if asked == 'hover':
        said = ' '.join(((result or {}).get('contents') or {}).get('value', '').split())
        said = said.split('---')[0][:110]
        right = all(want in said for want in wanted)
    else:
        items = result['items'] if isinstance(result, dict) else result or []
        names = [re.split(r'[(…:! ]', item['label'])[0] for item in items]
        right = all(want in names for want in wanted)
        said = f'{len(names)} names, among them ' + ', '.join(name for name in names if name in wanted)
    wrong += not right
    print(f'{"right" if right else "WRONG"}  {asked:10} {body}\n       {said}')
server.ask('shutdown', None); server.send({'method': 'exit'})
sys.exit(1 if wrong else 0)
