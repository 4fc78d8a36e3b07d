// Today's ClickHouse (chDB: the engine inside this process) behind as much of its HTTP interface as store/clickhouse speaks.
//
//   node chdb_server.mjs PACKAGES FOLDER PORT
//
// PACKAGES has node_modules/chdb (scripts/install.sh --peers), FOLDER is the server's own. One statement after the other, as one session has them.
import fs from 'node:fs';
import http from 'node:http';
import {createRequire} from 'node:module';

const [packages, folder, port] = process.argv.slice(2);
const {Session} = createRequire(packages + '/')('chdb');
fs.mkdirSync(`${folder}/files`, {recursive: true});
const session = new Session(`${folder}/data`);
const path = (name) => `${folder}/files/${name}`;

// [name, bytes] of each file of a form.
function filesOf(body, boundary) {
  const files = [];
  const mark = Buffer.from(`--${boundary}`);
  for (let begin = body.indexOf(mark); begin >= 0;) {
    const next = body.indexOf(mark, begin + mark.length);
    if (next < 0) {
      break;
    }
    const head = body.indexOf('\r\n\r\n', begin);
    const name = /name="([^"]*)"/.exec(body.subarray(begin, head).toString())[1];
    files.push([name, body.subarray(head + 4, next - 2)]);
    begin = next;
  }
  return files;
}

function answer(parameters, body, type) {
  if (parameters.has('database')) {
    session.query(`use ${parameters.get('database')}`);
  }
  const sql = parameters.get('query') ?? body.toString();
  if (/^insert/i.test(sql)) {
    fs.writeFileSync(path('insert'), body);
    session.query(sql.replace(/ FORMAT RowBinary$/, ` FROM INFILE '${path('insert')}' FORMAT RowBinary`));
    return '';
  }
  const tables = type.startsWith('multipart/') ? filesOf(body, /boundary=(.*)$/.exec(type)[1]) : [];
  try {
    for (const [name, rows] of tables) {
      session.query(`create temporary table ${name} (${parameters.get(`${name}_structure`)})`);
      if (rows.length > 0) {
        fs.writeFileSync(path(name), rows);
        session.query(`insert into ${name} from infile '${path(name)}' format RowBinary`);
      }
    }
    if (!/^select/i.test(sql)) {
      session.query(sql);
      return '';
    }
    fs.rmSync(path('answer'), {force: true});
    const format = / FORMAT (\w+)$/.exec(sql)?.[1] ?? 'TabSeparated';
    session.query(`${sql.replace(/ FORMAT \w+$/, '')} INTO OUTFILE '${path('answer')}' FORMAT ${format}`);
    return fs.existsSync(path('answer')) ? fs.readFileSync(path('answer')) : '';
  } finally {
    for (const [name] of tables) {
      session.query(`drop temporary table if exists ${name}`);
    }
  }
}

http.createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const url = new URL(request.url, 'http://localhost');
    if (url.pathname === '/ping') {
      response.end('Ok.\n');
      return;
    }
    try {
      response.end(answer(url.searchParams, Buffer.concat(chunks), request.headers['content-type'] ?? ''));
    } catch (error) {
      const code = /Code: (\d+)/.exec(error.message)?.[1] ?? '0';
      response.writeHead(500, {'X-ClickHouse-Exception-Code': code});
      response.end(error.message.replace(/^Query failed: /, ''));
    }
  });
}).listen(Number(port), '127.0.0.1');
