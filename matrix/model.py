#!/usr/bin/env python3
"""A language model on 127.0.0.1 for agents that are checked offline: python3 model.py [PORT]

It speaks what the vendors' models speak: OpenAI's chat completions and responses, Anthropic's messages, Gemini's content. What it
answers follows from the conversation that it is sent, as with any model:

    asked for "the word"      the last one that it was to remember, if the conversation still has it
    asked how far it got      the last word of the longer answers that the conversation holds, its own or one that it is told of
    asked to do it slowly     150 words in ten seconds
    asked to do it quickly    50 words at once
    asked for a file          a call of the offered tool that writes files, or runs commands; then a word about the result
    anything else             ok
"""
import gzip
import json
import re
import sys
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

SLOW_WORDS, SLOW_PAUSE = 150, 1 / 15
QUICK_WORDS = 50
FILE = re.compile(r"write the file (\S+) with the text (\w+)")


# -- what it says ---------------------------------------------------------------------------------------------

def texts(content):
    """All text in a message's content, whatever its shape."""
    if isinstance(content, str):
        return [content]
    if isinstance(content, list):
        return [text for part in content for text in texts(part)]
    if isinstance(content, dict):
        return texts(content.get("text") or content.get("content") or content.get("parts") or "")
    return []


def decide(told, said, has_result, tools):
    """-> (words, seconds between them, (tool, arguments) or None); `told` are the user's texts, `said` the model's, oldest first."""
    last = told[-1] if told else ""
    if re.search(r"what is the word", last):
        words = re.findall(r"remember the word (\w+)", "\n".join(told))
        return [f"The word is {words[-1]}." if words else "I know no word."], 0, None
    if "how far did you get" in last:
        words = [int(word) for word in re.findall(r"\bw(\d+)\b", "\n".join(told + said))]
        return [f"I got to w{max(words)}." if words else "I said nothing."], 0, None
    if "slowly" in last:
        return [f"w{n} " for n in range(SLOW_WORDS)], SLOW_PAUSE, None
    if "quickly" in last:
        return [f"w{n} " for n in range(QUICK_WORDS)], 0, None
    wanted = FILE.search(last)
    if wanted and has_result:
        return ["The file is written."], 0, None
    call = choose(tools, *wanted.groups()) if wanted else None
    return ["ok"], 0, call


def choose(tools, file, text):
    """The tool that writes a file, else one that runs commands, with its arguments."""
    for pattern in (r"write|create_file|create", r"bash|shell|exec|command|terminal"):
        for name, schema in tools:
            if re.search(pattern, name, re.I) and not re.search(r"todo|plan|memory|stdin|output|task|agent|note", name, re.I):
                return name, arguments(schema, file, text)
    return None


def arguments(schema, file, text):
    properties = schema.get("properties") or {}
    made = {}
    for name in schema.get("required") or list(properties):
        kind = (properties.get(name) or {}).get("type", "string")
        kind = (kind[0] if isinstance(kind, list) else kind).lower()
        low = name.lower()
        command = f"printf {text} > {file}"
        if kind == "array":
            made[name] = ["bash", "-c", command] if "command" in low or low == "cmd" else []
        elif kind in ("integer", "number"):
            made[name] = 1000
        elif kind == "boolean":
            made[name] = False
        elif kind == "object":
            made[name] = {}
        elif "path" in low or "file" in low:
            made[name] = file
        elif "command" in low or low in ("cmd", "script"):
            made[name] = command
        else:
            made[name] = (properties[name].get("enum") or [text])[0] if name in properties else text
    return made


# -- how each vendor says it ----------------------------------------------------------------------------------

class Chat:
    """OpenAI's chat completions."""

    def __init__(self, body):
        self.model = body.get("model")
        messages = body.get("messages") or []
        self.told = ["\n".join(texts(m.get("content"))) for m in messages if m.get("role") == "user"]
        self.said = ["\n".join(texts(m.get("content"))) for m in messages if m.get("role") == "assistant"]
        self.has_result = bool(messages) and messages[-1].get("role") == "tool"
        self.tools = [(t["function"]["name"], t["function"].get("parameters") or {})
                      for t in body.get("tools") or [] if "function" in t]
        self.head = {"id": "chatcmpl-" + uuid.uuid4().hex, "created": int(time.time()), "model": self.model}
        self.usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}

    def whole(self, text, call):
        message = {"role": "assistant", "content": None if call else text}
        if call:
            message["tool_calls"] = [self.call(call)]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if call else "stop"}
        return {**self.head, "object": "chat.completion", "choices": [choice], "usage": self.usage}

    def call(self, call):
        return {"index": 0, "id": "call_" + uuid.uuid4().hex[:16], "type": "function",
                "function": {"name": call[0], "arguments": json.dumps(call[1])}}

    def stream(self, words, call):
        def chunk(delta, end=None):
            choice = {"index": 0, "delta": delta, "finish_reason": end}
            return None, {**self.head, "object": "chat.completion.chunk", "choices": [choice]}
        yield chunk({"role": "assistant", "content": ""})
        if call:
            yield chunk({"tool_calls": [self.call(call)]})
        else:
            for word in words:
                yield chunk({"content": word})
        yield chunk({}, "tool_calls" if call else "stop")
        yield None, {**self.head, "object": "chat.completion.chunk", "choices": [], "usage": self.usage}
        yield None, "[DONE]"


class Responses:
    """OpenAI's responses."""

    def __init__(self, body):
        items = body.get("input") or []
        items = [{"role": "user", "content": items}] if isinstance(items, str) else items
        self.told = ["\n".join(texts(i.get("content"))) for i in items if i.get("role") == "user"]
        self.said = ["\n".join(texts(i.get("content"))) for i in items if i.get("role") == "assistant"]
        self.has_result = bool(items) and str(items[-1].get("type", "")).endswith("_output")
        self.tools = [(t["name"], t.get("parameters") or {}) for t in body.get("tools") or [] if t.get("type") == "function"]
        self.head = {"id": "resp_" + uuid.uuid4().hex, "object": "response", "created_at": int(time.time()),
                     "model": body.get("model"), "status": "in_progress", "output": [], "tools": [], "parallel_tool_calls": False}
        self.usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
                      "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110}

    def item(self, text, call):
        if call:
            return {"type": "function_call", "id": "fc_" + uuid.uuid4().hex, "call_id": "call_" + uuid.uuid4().hex[:16],
                    "name": call[0], "arguments": json.dumps(call[1]), "status": "completed"}
        part = {"type": "output_text", "text": text, "annotations": []}
        return {"type": "message", "id": "msg_" + uuid.uuid4().hex, "role": "assistant", "status": "completed", "content": [part]}

    def whole(self, text, call):
        return {**self.head, "status": "completed", "output": [self.item(text, call)], "usage": self.usage}

    def stream(self, words, call):
        number = iter(range(1 << 30))
        event = lambda kind, **more: (kind, {"type": kind, "sequence_number": next(number), **more})
        item, said = self.item("", call), ""
        place = {"item_id": item["id"], "output_index": 0}
        yield event("response.created", response=self.head)
        if call:
            yield event("response.output_item.added", output_index=0, item={**item, "arguments": "", "status": "in_progress"})
            yield event("response.function_call_arguments.delta", **place, delta=item["arguments"])
            yield event("response.function_call_arguments.done", **place, arguments=item["arguments"])
        else:
            yield event("response.output_item.added", output_index=0, item={**item, "content": [], "status": "in_progress"})
            yield event("response.content_part.added", **place, content_index=0, part=item["content"][0])
            for word in words:
                said += word
                yield event("response.output_text.delta", **place, content_index=0, delta=word)
            item["content"][0]["text"] = said
            yield event("response.output_text.done", **place, content_index=0, text=said)
            yield event("response.content_part.done", **place, content_index=0, part=item["content"][0])
        yield event("response.output_item.done", output_index=0, item=item)
        yield event("response.completed", response={**self.head, "status": "completed", "output": [item], "usage": self.usage})


class Messages:
    """Anthropic's messages."""

    def __init__(self, body):
        messages = body.get("messages") or []
        of_user = [m.get("content") for m in messages if m.get("role") == "user"]
        is_result = lambda c: isinstance(c, list) and any(isinstance(p, dict) and p.get("type") == "tool_result" for p in c)
        self.told = ["\n".join(texts(c)) for c in of_user if not is_result(c)]
        self.said = ["\n".join(texts(m.get("content"))) for m in messages if m.get("role") == "assistant"]
        self.has_result = bool(of_user) and is_result(of_user[-1])
        self.tools = [(t["name"], t["input_schema"]) for t in body.get("tools") or [] if "input_schema" in t]
        self.head = {"id": "msg_" + uuid.uuid4().hex[:24], "type": "message", "role": "assistant", "model": body.get("model"),
                     "stop_reason": None, "stop_sequence": None}
        self.usage = {"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}

    def whole(self, text, call):
        block = {**self.use(call), "input": call[1]} if call else {"type": "text", "text": text}
        return {**self.head, "content": [block], "stop_reason": "tool_use" if call else "end_turn", "usage": self.usage}

    def use(self, call):
        return {"type": "tool_use", "id": "toolu_" + uuid.uuid4().hex[:24], "name": call[0]}

    def stream(self, words, call):
        event = lambda kind, **more: (kind, {"type": kind, **more})
        yield event("message_start", message={**self.head, "content": [], "usage": self.usage})
        if call:
            yield event("content_block_start", index=0, content_block={**self.use(call), "input": {}})
            yield event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": json.dumps(call[1])})
        else:
            yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
            for word in words:
                yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": word})
        yield event("content_block_stop", index=0)
        stop = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
        yield event("message_delta", delta=stop, usage={"output_tokens": 10})
        yield event("message_stop")


class Gemini:
    """Gemini's content."""

    def __init__(self, body):
        contents = [c for c in body.get("contents") or [] if c.get("role", "user") == "user"]
        is_result = lambda c: any("functionResponse" in part for part in c.get("parts") or [])
        self.told = ["\n".join(texts(c.get("parts"))) for c in contents if not is_result(c)]
        self.said = ["\n".join(texts(c.get("parts"))) for c in body.get("contents") or [] if c.get("role") == "model"]
        self.has_result = bool(contents) and is_result(contents[-1])
        declared = [f for t in body.get("tools") or [] for f in t.get("functionDeclarations") or []]
        self.tools = [(f["name"], f.get("parametersJsonSchema") or f.get("parameters") or {}) for f in declared]
        config = body.get("generationConfig") or {}
        self.form = config.get("responseJsonSchema") or config.get("responseSchema")

    def answer(self, parts, end=None):
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **({"finishReason": end} if end else {})}
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "offline", "responseId": uuid.uuid4().hex}

    def whole(self, text, call):
        if self.form:  # the agent's own questions want JSON
            text = json.dumps(arguments(self.form, "file", "text"))
        return self.answer([{"functionCall": {"name": call[0], "args": call[1]}}] if call else [{"text": text}], "STOP")

    def stream(self, words, call):
        if call:
            yield None, self.whole("", call)
            return
        for word in words:
            yield None, self.answer([{"text": word}])
        yield None, self.answer([{"text": ""}], "STOP")


VENDORS = [("/chat/completions", Chat), ("/responses", Responses), ("/messages", Messages),
           (":streamGenerateContent", Gemini), (":generateContent", Gemini)]


# -- the server -----------------------------------------------------------------------------------------------

class Handler(BaseHTTPRequestHandler):
    protocol_version, disable_nagle_algorithm = "HTTP/1.1", True

    def log_message(self, *_):
        pass

    def plain(self, body, status=200):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self):
        if not self.path.partition("?")[0].endswith("/models"):
            return self.plain({"error": {"message": f"there is no {self.path}", "type": "not_found_error"}}, 404)
        model = {"id": "offline", "object": "model", "type": "model", "display_name": "Offline", "owned_by": "nobody",
                 "created": 1, "created_at": "2026-01-01T00:00:00Z"}
        self.plain({"object": "list", "has_more": False, "data": [model]})

    def do_POST(self):
        raw = self.read_body()
        path = self.path.partition("?")[0]
        if path.endswith(("/count_tokens", ":countTokens")):
            return self.plain({"input_tokens": len(raw) // 4, "totalTokens": len(raw) // 4})
        vendor = next((vendor for end, vendor in VENDORS if path.endswith(end)), None)
        if vendor is None:
            return self.plain({"error": {"message": f"there is no {path}", "type": "not_found_error"}}, 404)
        body = json.loads(raw or b"{}")
        answer = vendor(body)
        words, pause, call = decide(answer.told, answer.said, answer.has_result, answer.tools)
        try:
            if body.get("stream") or path.endswith(":streamGenerateContent"):
                self.stream(answer, words, pause, call)
            else:
                self.plain(answer.whole("".join(words), call))
        except OSError:  # the agent has heard enough
            self.close_connection = True

    def read_body(self):
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        else:
            raw = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        return gzip.decompress(raw) if self.headers.get("content-encoding") == "gzip" else raw

    def stream(self, answer, words, pause, call):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

        def spoken():
            for word in words:
                yield word
                time.sleep(pause)
        for kind, data in answer.stream(spoken(), call):
            text = data if isinstance(data, str) else json.dumps(data)
            event = f"event: {kind}\n" if kind else ""
            line = f"{event}data: {text}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """An agent that is killed in mid-answer is no error here."""


def start(port=0):
    """Starts the model, and gives its address."""
    server = Server(("127.0.0.1", port), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


if __name__ == "__main__":
    print(start(int(sys.argv[1]) if len(sys.argv) > 1 else 0), flush=True)
    time.sleep(1 << 30)
