// What the peers of store_bench have in common: a command a line on standard input, a line for each on standard output.
//
//   version
//   load BITS            makes the tables from rows.csv, leaf.csv and functions.csv in the folder; hits have 32 or 64 bits
//   bytes ORDER          a row of the table samples in that order takes, as the database stores it
//   parquet ORDER        likewise in a Parquet file (zstd, level 9)
//   time SQL             milliseconds until the answer of a query is there
//   answer FILE SQL      writes the answer as CSV
//
// The tables are ORDER.samples (time, event, machine, job, thread, stack, hits) for each order, and stacks.leaf and stacks.functions
// (stack, function): that of its innermost frame, and each that is anywhere on it. An error is a line "error ...".
import {createRequire} from 'node:module';
import {createInterface} from 'node:readline';

export const folder = process.argv[3];
export const requireFromPackages = createRequire(process.argv[2] + '/');

export const orders = {
  by_time: 'time, machine, job, stack, thread',
  by_event: 'event, job, stack, time, machine, thread',
  by_job: 'job, stack, time, machine, thread',
};

export const threads = 2;

// `commands`: by name, each given the rest of its line.
export async function serve(commands) {
  for await (const line of createInterface({input: process.stdin})) {
    const [name, ...rest] = line.split(' ');
    try {
      process.stdout.write(`${await commands[name](rest.join(' '))}\n`);
    } catch (error) {
      process.stdout.write(`error ${error.message.replaceAll('\n', ' ')}\n`);
    }
  }
}

export async function milliseconds(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

// "FILE SQL"
export function fileAndQuery(text) {
  const at = text.indexOf(' ');
  return [text.slice(0, at), text.slice(at + 1)];
}
