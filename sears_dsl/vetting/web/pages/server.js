// Questions to the server, by addresses relative to the page, which carry its token.

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

/** Send something. */
export async function send(name, content, signal = undefined) {
  return answered(await reached(`api/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(content),
    signal,
  }));
}
