"""A language model that we make ourselves, behind llama.cpp's own server.

    .model-server/bin/python model_server.py FOLDER KEY

Writes the model into FOLDER, serves it on a port of this machine to those who have KEY, prints the address, and ends when its
input does.

The model is a llama of one block whose weights are zero, so that each token goes through it unchanged, and the last layer maps
it to the one that NEXT names. What it says depends on the last character of the prompt alone: it answers "." with four
words, "!" without an end, and "?" by calling a tool. When it has the tool's result, which the template puts in braces, it is
done.
"""
import struct
import sys
from pathlib import Path

from xllamacpp import CommonParams, Server

# The tokens: three that every model has, all bytes, and what it says. A lower line stands for a blank before a word.
END = "</s>"
CALL = '{"name": "list_files", "arguments": {}}'
WORDS = ["▁one", "▁two", "▁three", "▁four", "▁on", "▁and", "<tool_call>", CALL, "</tool_call>", "▁done"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
TOKENS = ["<unk>", "<s>", END, *BYTES, *WORDS]
UNKNOWN, CONTROL, BYTE, NORMAL = 2, 3, 6, 1
KINDS = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * len(BYTES), *[NORMAL] * len(WORDS)]

# What comes behind what. Behind all else comes the end.
NEXT = {
    "<0x2E>": "▁one", "▁one": "▁two", "▁two": "▁three", "▁three": "▁four",
    "<0x21>": "▁on", "▁on": "▁and", "▁and": "▁on",
    "<0x3F>": "<tool_call>", "<tool_call>": CALL, CALL: "</tool_call>",
    "<0x7D>": "▁done",
}

# Ends with what was said last, so that this decides.
TEMPLATE = """
{%- if tools %}{{ 'tools: ' + (tools | tojson) + '\\n' }}{% endif -%}
{%- for message in messages -%}
{%- if not loop.first %}{{ '\\n' }}{% endif -%}
{%- if message.role == 'tool' %}{{ 'tool: {' + message.content + '}' }}
{%- elif message.tool_calls %}
{%- for call in message.tool_calls %}{{ '<tool_call>' + (call.function | tojson) + '</tool_call>' }}{% endfor %}
{%- else %}{{ message.role + ': ' + message.content }}
{%- endif -%}
{%- endfor -%}"""

N, WIDTH, HEAD, INNER, CONTEXT = len(TOKENS), 320, 64, 32, 65536


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def one(kind, form):
    return lambda value: struct.pack("<I" + form, kind, value)


number, real = one(4, "I"), one(6, "f")


def string(value):
    return struct.pack("<I", 8) + text(value)


def array(kind, items):
    return struct.pack("<IIQ", 9, kind, len(items)) + b"".join(items)


ABOUT = {
    "general.architecture": string("llama"),
    "general.name": string("chain"),
    "llama.vocab_size": number(N),
    "llama.context_length": number(CONTEXT),
    "llama.embedding_length": number(WIDTH),
    "llama.block_count": number(1),
    "llama.feed_forward_length": number(INNER),
    "llama.attention.head_count": number(WIDTH // HEAD),
    "llama.attention.head_count_kv": number(1),
    "llama.attention.layer_norm_rms_epsilon": real(1e-5),
    "llama.rope.dimension_count": number(HEAD),
    "tokenizer.ggml.model": string("llama"),
    "tokenizer.ggml.tokens": array(8, [text(token) for token in TOKENS]),
    "tokenizer.ggml.scores": array(6, [struct.pack("<f", 0)] * N),
    "tokenizer.ggml.token_type": array(5, [struct.pack("<i", kind) for kind in KINDS]),
    "tokenizer.ggml.unknown_token_id": number(0),
    "tokenizer.ggml.bos_token_id": number(1),
    "tokenizer.ggml.eos_token_id": number(TOKENS.index(END)),
    "tokenizer.chat_template": string(TEMPLATE),
}


def matrix(rows, columns, ones=(), value=0.0):
    """(dimensions, kind, data) of a matrix of halves that is zero but for `value` at the places (row, column) in `ones`."""
    data = bytearray(2 * rows * columns)
    for row, column in ones:
        struct.pack_into("<e", data, 2 * (row * columns + column), value)
    return (columns, rows), 1, bytes(data)


def vector(value):
    return (WIDTH,), 0, struct.pack("<f", value) * WIDTH


FOLLOWS = [TOKENS.index(NEXT.get(token, END)) for token in TOKENS]
TENSORS = {
    "token_embd.weight": matrix(N, WIDTH, [(token, token) for token in range(N)], 1),
    "output_norm.weight": vector(1),
    "output.weight": matrix(N, WIDTH, [(follows, token) for token, follows in enumerate(FOLLOWS)], 10),
    "blk.0.attn_norm.weight": vector(1),
    "blk.0.attn_q.weight": matrix(WIDTH, WIDTH),
    "blk.0.attn_k.weight": matrix(HEAD, WIDTH),
    "blk.0.attn_v.weight": matrix(HEAD, WIDTH),
    "blk.0.attn_output.weight": matrix(WIDTH, WIDTH),
    "blk.0.ffn_norm.weight": vector(1),
    "blk.0.ffn_gate.weight": matrix(INNER, WIDTH),
    "blk.0.ffn_up.weight": matrix(INNER, WIDTH),
    "blk.0.ffn_down.weight": matrix(WIDTH, INNER),
}


def padded(data, to=32):
    return data + bytes(-len(data) % to)


def model():
    """The model, as a file of GGUF."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(TENSORS), len(ABOUT))
    head += b"".join(text(name) + value for name, value in ABOUT.items())
    body = b""
    for name, (dimensions, kind, data) in TENSORS.items():
        head += text(name) + struct.pack(f"<I{len(dimensions)}QIQ", len(dimensions), *dimensions, kind, len(body))
        body += padded(data)
    return padded(head) + body


def main():
    path = Path(sys.argv[1]) / "chain.gguf"
    path.write_bytes(model())
    params = CommonParams()
    params.model.path, params.model_alias = str(path), {"chain"}
    params.n_ctx = CONTEXT
    params.port, params.api_keys = 0, [sys.argv[2]]
    params.fit_params = params.warmup = params.ui = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


main()
