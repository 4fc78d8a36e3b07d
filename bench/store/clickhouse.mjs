// ClickHouse, inside the process (chDB), with a database for each order; its tables are merged into one part.
import fs from 'node:fs';
import {fileAndQuery, folder, milliseconds, orders, requireFromPackages, serve, threads} from './peer.mjs';

const {Session} = requireFromPackages('chdb');
const session = new Session(`${folder}/clickhouse`);
const query = (sql) => session.query(`${sql} settings max_threads = ${threads}`, 'CSV');
const run = (sql) => session.query(sql, 'CSV');

function load(bits) {
  for (const [order, columns] of Object.entries(orders)) {
    run(`create database ${order} engine = Atomic`);
    run(`create table ${order}.samples (time UInt32 codec(Delta, ZSTD), event UInt8 codec(ZSTD),
      machine UInt32 codec(Delta, ZSTD), job UInt32 codec(ZSTD), thread UInt32 codec(ZSTD), stack UInt32 codec(Delta, ZSTD),
      hits UInt${bits} codec(ZSTD)) engine = MergeTree order by (${columns})`);
    run(`insert into ${order}.samples select * from file('${folder}/rows.csv', CSV,
      'time UInt32, event UInt8, machine UInt32, job UInt32, thread UInt32, stack UInt32, hits UInt${bits}')`);
    run(`optimize table ${order}.samples final`);
  }
  run('create database stacks engine = Atomic');
  for (const table of ['leaf', 'functions']) {
    run(`create table stacks.${table} (stack UInt32, function UInt32) engine = MergeTree order by (stack, function)`);
    run(`insert into stacks.${table} select * from file('${folder}/${table}.csv', CSV, 'stack UInt32, function UInt32')`);
    run(`optimize table stacks.${table} final`);
  }
  return 'ok';
}

await serve({
  version: () => run('select version()').trim().replaceAll('"', ''),
  load,
  bytes: (order) => Number(run(`select sum(bytes_on_disk) / sum(rows) from system.parts
    where database = '${order}' and table = 'samples' and active`)),
  time: (sql) => milliseconds(() => query(sql)),
  answer: (text) => {
    const [path, sql] = fileAndQuery(text);
    fs.writeFileSync(path, query(sql));
    return 'ok';
  },
});
