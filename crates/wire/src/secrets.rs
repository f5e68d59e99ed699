//! Recognises secrets by the names that they are given, and by where they stand in arguments and addresses.

/// Parts of names of secrets, in lower case and without `_` and `-`.
const SECRET_PARTS: [&str; 9] =
    ["apikey", "accesskey", "privatekey", "encryptionkey", "secret", "token", "passw", "passphrase", "credential"];

/// A text of an argument or a path that is shorter is a word.
const SHORTEST_TOKEN: usize = 16;

/// Whether `name`, of a variable or a field, says that its value is a secret.
pub fn names_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let joined: String = name.chars().filter(|char| !matches!(char, '_' | '-')).collect();
    // A tokenizer works on other tokens.
    let joined = joined.replace("tokenizer", "");
    name.ends_with("_key") || SECRET_PARTS.iter().any(|part| joined.contains(part))
}

/// The secrets in the arguments of a program: what follows a name of a secret (`--token VALUE`, `TOKEN=VALUE`), and what looks
/// like a token.
pub fn secrets_in_args(args: &[String]) -> Vec<String> {
    let mut secrets = Vec::new();
    let mut is_named = false;
    for arg in args {
        let (name, value) = arg.split_once('=').unwrap_or(("", arg));
        if is_named || names_secret(name) || looks_like_token(value) {
            secrets.push(value.to_owned());
        }
        is_named = name.is_empty() && arg.starts_with('-') && names_secret(arg);
    }
    secrets
}

/// The parts of an address's `path` that look like tokens.
pub fn secrets_in_path(path: &str) -> Vec<String> {
    path.split('/').filter(|part| looks_like_token(part)).map(str::to_owned).collect()
}

fn looks_like_token(text: &str) -> bool {
    let has = |is: fn(&u8) -> bool| text.as_bytes().iter().any(is);
    text.len() >= SHORTEST_TOKEN
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_secret() {
        for name in
            ["GITHUB_TOKEN", "apiKey", "x-api-key", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "SIGNING_KEY", "--token"]
        {
            assert!(names_secret(name), "{name}");
        }
        for name in ["PATH", "KEYBOARD", "MONKEY", "key", "tokenizer", "TOKENIZERS_PARALLELISM", "author"] {
            assert!(!names_secret(name), "{name}");
        }
    }

    #[test]
    fn secrets_are_found_in_arguments_and_paths() {
        let args = [
            "-y",
            "@scope/server",
            "--token",
            "hush",
            "--port",
            "8080",
            "API_KEY=hush-2",
            "t0ken-with-16-chars",
            "/opt/a/server-2024-01-01",
        ];
        let found = secrets_in_args(&args.map(str::to_owned));
        assert_eq!(found, ["hush", "hush-2", "t0ken-with-16-chars"]);
        assert_eq!(secrets_in_path("/api/mcp/a1b2c3d4e5f6a7b8c9/sse"), ["a1b2c3d4e5f6a7b8c9"]);
    }
}
