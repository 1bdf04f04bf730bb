// Questions to the server, by addresses relative to the page, which carry its token.

const PART = 200; // items that the server gives at once

/** An answer that says no: what happened, and what to do. */
export class Refusal extends Error {
  constructor(status, told) {
    super(told.help ? `${told.error}\n${told.help}` : told.error);
    this.status = status;
  }
}

async function answered(response) {
  const told = await response.json();
  if (!response.ok) throw new Refusal(response.status, told);
  return told;
}

async function reached(address, options) {
  try {
    return await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, { error: "sears vet does not answer. Has it been stopped?", help: "Start it again: all decisions so far are in the journal." });
  }
}

/** Ask for something; nothing is changed. */
export async function ask(name, query = {}, signal = undefined) {
  return answered(await reached(`api/${name}?${new URLSearchParams(query)}`, { signal }));
}

/** Ask for `most` items of a list from `first` on, in as many parts as the server allows. */
export async function askMany(name, list, query, most, first = 0) {
  const found = await ask(name, { ...query, first, most: Math.min(most, PART) });
  while (found[list].length < Math.min(most, found.total - first)) {
    const at = found[list].length;
    const more = await ask(name, { ...query, first: first + at, most: Math.min(most - at, PART) });
    if (!more[list].length) break;
    found[list].push(...more[list]);
  }
  return found;
}

/** Send something. */
export async function send(name, content, signal = undefined) {
  return answered(await reached(`api/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(content),
    signal,
  }));
}
