// An OpenAI-compatible server over llama.cpp, as small as a load generator needs it: real computation, real batching.
// Usage: node server.mjs PACKAGES MODEL.gguf [PORT [AT_ONCE]]
// PACKAGES is where tools/install_node has put node-llama-cpp. The first line of standard output is {"port": N}.
// Sampling is greedy. More requests than AT_ONCE wait in the order in which they came.
import {createServer} from "node:http";
import {createRequire} from "node:module";
import {basename, resolve} from "node:path";
import {pathToFileURL} from "node:url";

const [packages, file, port = "0", atOnce = "8"] = process.argv.slice(2);
const found = createRequire(`${resolve(packages)}/`).resolve("node-llama-cpp");
const {getLlama, LlamaLogLevel} = await import(pathToFileURL(found).href);

// The prebuilt addon or none: nothing is compiled and nothing fetched.
const llama = await getLlama({gpu: false, build: "never", skipDownload: true, logLevel: LlamaLogLevel.error});
const model = await llama.loadModel({modelPath: file});
const contextSize = Math.min(1024, model.trainContextSize);
// One thread: llama.cpp's threads wait for one another in a spin, which took hundreds of times as long beside other work.
const context = await model.createContext({sequences: Number(atOnce), contextSize, threads: 1});
const name = basename(file, ".gguf");

const free = Array.from({length: context.totalSequences}, () => context.getSequence());
const waiting = [];
const sequence = () => free.length > 0 ? free.pop() : new Promise(resolve => waiting.push(resolve));
const giveBack = one => waiting.length > 0 ? waiting.shift()(one) : free.push(one);

// The context is locked for as long as any sequence has a token to come. Who clears a sequence has the others pause for a step,
// and would else wait until all of their answers are whole.
let clearing = Promise.resolve();

class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function promptTokens(body, isChat) {
  const {messages, prompt} = body;
  if (isChat ? !Array.isArray(messages) : typeof prompt !== "string" && !Array.isArray(prompt))
    throw new Refusal(400, isChat ? "messages is no list" : "prompt is neither text nor tokens");
  if (isChat) return tokensOf(messages.map(one => `${one.role}: ${one.content}\n`).join(""));
  if (typeof prompt === "string") return tokensOf(prompt);
  if (!prompt.every(one => Number.isInteger(one) && one >= 0)) throw new Refusal(400, "prompt is no list of tokens");
  return prompt.map(one => one % model.fileInfo.metadata.tokenizer.ggml.tokens.length);
}

const tokensOf = text => [model.tokens.bos, ...model.tokenize(text)];

/** The answer's tokens as text, one by one, until `limit`, the end that the model chooses, or the client's leaving. */
async function* answer(tokens, limit, goesOn, gone) {
  const mine = await sequence();
  try {
    await (clearing = Promise.all([clearing, mine.clearHistory()]).then(() => undefined));
    const before = [...tokens];
    let count = 0;
    for await (const token of mine.evaluate(tokens, {temperature: 0, yieldEogToken: goesOn})) {
      yield model.detokenize([token], false, before.slice(-8));
      before.push(token);
      if (++count >= limit || gone()) return;
      await clearing;
    }
  } finally {
    giveBack(mine);
  }
}

async function complete(request, response, isChat) {
  const parts = [];
  for await (const part of request) parts.push(part);
  let body;
  try {
    body = JSON.parse(Buffer.concat(parts).toString());
  } catch {
    throw new Refusal(400, "the body is no JSON");
  }
  const tokens = promptTokens(body, isChat);
  const limit = body.max_completion_tokens ?? body.max_tokens ?? 16;
  if (!Number.isInteger(limit) || limit < 1) throw new Refusal(400, "max_tokens is no count");
  if (tokens.length + limit > contextSize)
    throw new Refusal(400, `${tokens.length} tokens and ${limit} to come are more than the context's ${contextSize}`);

  const head = {id: `cmpl-${process.hrtime.bigint()}`, created: Math.floor(Date.now() / 1000), model: name};
  const object = isChat ? "chat.completion" : "text_completion";
  const send = chunk => response.write(`data: ${JSON.stringify({...head, ...chunk})}\n\n`);
  const texts = [];
  for await (const text of answer(tokens, limit, body.ignore_eos === true, () => response.destroyed)) {
    if (body.stream) {
      if (texts.length === 0) response.writeHead(200, {"Content-Type": "text/event-stream"});
      const content = isChat ? {delta: {content: text}} : {text};
      send({object: isChat ? "chat.completion.chunk" : object, choices: [{index: 0, ...content, finish_reason: null}]});
    }
    texts.push(text);
  }
  const reason = {index: 0, finish_reason: texts.length < limit ? "stop" : "length"};
  const usage = {
    prompt_tokens: tokens.length, completion_tokens: texts.length, total_tokens: tokens.length + texts.length
  };
  if (!body.stream) {
    const content = isChat ? {message: {role: "assistant", content: texts.join("")}} : {text: texts.join("")};
    return json(response, 200, {...head, object, choices: [{...reason, ...content}], usage});
  }
  send({object: isChat ? "chat.completion.chunk" : object, choices: [{...reason, ...(isChat ? {delta: {}} : {text: ""})}]});
  if (body.stream_options?.include_usage) send({object, choices: [], usage});
  response.end("data: [DONE]\n\n");
}

function json(response, status, document) {
  response.writeHead(status, {"Content-Type": "application/json"}).end(JSON.stringify(document));
}

async function route(request, response) {
  switch (`${request.method} ${request.url}`) {
    case "GET /health": return json(response, 200, {status: "ok"});
    case "GET /v1/models": return json(response, 200, {object: "list", data: [{id: name, object: "model"}]});
    case "POST /v1/completions": return complete(request, response, false);
    case "POST /v1/chat/completions": return complete(request, response, true);
    default: throw new Refusal(404, `nothing at ${request.method} ${request.url}`);
  }
}

const server = createServer((request, response) => {
  request.socket.setNoDelay(true);
  route(request, response).catch(error => {
    if (response.headersSent) return response.destroy();
    const type = error.status ? "invalid_request_error" : "internal";
    json(response, error.status ?? 500, {error: {message: error.message, type}});
  });
});
server.listen(Number(port), "127.0.0.1", () => console.log(JSON.stringify({port: server.address().port})));
process.on("SIGTERM", () => process.exit(0));
