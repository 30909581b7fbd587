/* Requests to the server, its events, and the state that all parts of the page share. */
"use strict";

const token = new URLSearchParams(location.search).get("token") || "";

/* The last state of the server, and what waits for its changes. */
const live = {
  state: null,
  connected: false,
  listeners: { state: [], connection: [] },
  on(name, listener) { this.listeners[name].push(listener); },
  emit(name) { for (const listener of this.listeners[name]) listener(this.state); },
  get owner() { return Boolean(this.state && this.state.owner && this.connected); },
};

async function request(path, options = {}) {
  const headers = { "X-Kandela-Token": token };
  if (options.body) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch { /* browsers' messages differ, and name no reason */
    throw new Error("The renderer does not answer; it may have ended.");
  }
  if (response.ok) return response;
  let message = `The server answered ${response.status}.`;
  try {
    message = (await response.json()).error || message;
  } catch { /* the answer is not JSON; the status says enough */ }
  throw new Error(message);
}

const getJson = async path => (await request(path)).json();
const getBinary = async path => (await request(path)).arrayBuffer();
const post = async (path, value) => (await request(path, { method: "POST", body: JSON.stringify(value) })).json()
  .catch(() => ({}));

/* Sends the last of many values: one request at a time, at most one each `interval` milliseconds. */
class Sender {
  constructor(path, interval) {
    this.path = path;
    this.interval = interval;
    this.waiting = null;
    this.busy = false;
    this.last = this.ended = -Infinity;
  }

  get idle() { return !this.busy && this.waiting === null; }

  send(value) {
    this.waiting = value;
    if (!this.busy) this.run();
  }

  async run() {
    this.busy = true;
    while (this.waiting !== null) {
      const pause = this.last + this.interval - performance.now();
      if (pause > 0) await new Promise(resolve => setTimeout(resolve, pause));
      const value = this.waiting;
      this.waiting = null;
      this.last = performance.now();
      try {
        await post(this.path, value);
      } catch (error) {
        notify(error.message, true);
      }
    }
    this.busy = false;
    this.ended = performance.now();
  }
}

/* Runs an asynchronous task for the newest arguments only: while one runs, a later call replaces
   those that wait. */
function newestOnly(task) {
  let running = false, waiting = null;
  return async function run(...values) {
    if (running) {
      waiting = values;
      return;
    }
    running = true;
    try {
      await task(...values);
    } catch (error) {
      notify(error.message, true);
    }
    running = false;
    if (waiting) {
      const next = waiting;
      waiting = null;
      run(...next);
    }
  };
}

function setConnected(connected) {
  if (live.connected === connected) return;
  live.connected = connected;
  live.emit("connection");
}

function openEvents() {
  const source = new EventSource(`/api/events?token=${encodeURIComponent(token)}`);
  source.addEventListener("open", () => setConnected(true));
  source.addEventListener("state", event => {
    setConnected(true);
    live.state = JSON.parse(event.data);
    live.emit("state");
  });
  source.addEventListener("error", () => {
    setConnected(false);
    /* the browser connects again by itself unless the server has refused */
    if (source.readyState === EventSource.CLOSED) setTimeout(openEvents, 3000);
  });
  addEventListener("pagehide", () => source.close());
}

/* A message that vanishes after some seconds; errors are read out at once. */
let notifyTimer = 0;
function notify(text, isError = false) {
  const box = document.getElementById("notice");
  box.textContent = text;
  box.className = isError ? "notice error" : "notice";
  box.hidden = false;
  clearTimeout(notifyTimer);
  notifyTimer = setTimeout(() => { box.hidden = true; }, isError ? 8000 : 4000);
}
