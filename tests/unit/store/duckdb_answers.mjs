// Puts queries to DuckDB: node duckdb_answers.mjs PACKAGES ROWS QUERIES ANSWERS
//
// ROWS is CSV with a heading, QUERIES has a query a line. ANSWERS gets the rows of each query as CSV, and an empty line.
import fs from 'node:fs';
import {createRequire} from 'node:module';

const [packages, rows, queries, answers] = process.argv.slice(2);
const {DuckDBInstance} = createRequire(packages + '/')('@duckdb/node-api');
const connection = await (await DuckDBInstance.create(':memory:')).connect();
await connection.run(`create table rows as select * from read_csv('${rows}')`);

let text = '';
for (const query of fs.readFileSync(queries, 'utf8').trim().split('\n')) {
  for (const row of (await connection.runAndReadAll(query)).getRows()) {
    text += row.join(',') + '\n';
  }
  text += '\n';
}
fs.writeFileSync(answers, text);
