// node page_size.mjs FOLDER [MAX_BYTES]: how many bytes the files of the page have, gzipped as embed.py does it. Fails if these are more.
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const [folder, most] = process.argv.slice(2);
const sizes = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => {
    const plain = readFileSync(`${entry.parentPath ?? entry.path}/${entry.name}`);
    return Math.min(plain.length, gzipSync(plain, { level: 9 }).length);
  });
const sum = sizes.reduce((total, size) => total + size, 0);
console.log(`${sum} bytes in ${sizes.length} files`);
if (sizes.length === 0 || (most !== undefined && sum > Number(most))) {
  console.error(`the page has ${sum} bytes, at most ${most} are wanted`);
  process.exit(1);
}
