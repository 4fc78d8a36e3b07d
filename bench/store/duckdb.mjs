// DuckDB, with a file for each order.
import fs from 'node:fs';
import {fileAndQuery, folder, milliseconds, orders, requireFromPackages, serve, threads} from './peer.mjs';

const {DuckDBInstance, version} = requireFromPackages('@duckdb/node-api');
const instance = await DuckDBInstance.create(':memory:', {threads: `${threads}`});
const connection = await instance.connect();
const run = (sql) => connection.runAndReadAll(sql);
const file = (order) => `${folder}/${order}.duckdb`;

async function load(bits) {
  const hits = bits === '64' ? 'UBIGINT' : 'UINTEGER';
  await run(`create temp table arrived as select * from read_csv('${folder}/rows.csv', header = false, columns = {
    time: 'UINTEGER', event: 'UTINYINT', machine: 'UINTEGER', job: 'UINTEGER', thread: 'UINTEGER',
    stack: 'UINTEGER', hits: '${hits}'})`);
  for (const [order, columns] of Object.entries(orders)) {
    await run(`attach '${file(order)}' as ${order}`);
    await run(`create table ${order}.samples as select * from arrived order by ${columns}`);
    await run(`checkpoint ${order}`);
  }
  await run('drop table arrived');
  await run("attach ':memory:' as stacks");
  for (const table of ['leaf', 'functions']) {
    await run(`create table stacks.${table} as select * from read_csv('${folder}/${table}.csv', header = false,
      columns = {stack: 'UINTEGER', function: 'UINTEGER'}) order by stack, function`);
  }
  return 'ok';
}

async function rowsOf(order) {
  return Number((await run(`select count(*) from ${order}.samples`)).getRows()[0][0]);
}

async function parquet(order) {
  const path = `${folder}/${order}.parquet`;
  await run(`copy (select * from ${order}.samples) to '${path}' (format parquet, compression zstd, compression_level 9)`);
  const bytes = fs.statSync(path).size / await rowsOf(order);
  fs.unlinkSync(path);
  return bytes;
}

await serve({
  version: () => version().replace('v', ''),
  load,
  parquet,
  bytes: async (order) => fs.statSync(file(order)).size / await rowsOf(order),
  time: (sql) => milliseconds(() => run(sql)),
  answer: async (text) => {
    const [path, sql] = fileAndQuery(text);
    await run(`copy (${sql}) to '${path}' (format csv, header false)`);
    return 'ok';
  },
});
