// Read the page's data: gzip in base64 in #data, split into the columns listed in #facts.
// docs/internals/viewer.md describes them.

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export async function readPage(doc) {
  const facts = JSON.parse(doc.getElementById("facts").textContent);
  const element = doc.getElementById("data");
  const bytes = await inflate(fromBase64(element.textContent.trim()));
  element.remove();
  const columns = {};
  let at = 0;
  for (const [name, size] of Object.entries(facts.columns)) {
    columns[name] = bytes.subarray(at, at + size);
    at += size;
  }
  return { facts, columns };
}

// A sequence of LEB128 numbers.  Values beyond 2^53 lose precision, as all JavaScript numbers do.
export class Lebs {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  next() {
    let byte = this.bytes[this.at++];
    if (byte < 128) return byte;
    let value = byte & 127, scale = 128;
    do {
      byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte >= 128);
    return value;
  }

  nextZigzag() {
    const x = this.next();
    return x % 2 ? -(x + 1) / 2 : x / 2;
  }
}
