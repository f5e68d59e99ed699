//! The params of a request, read field by field, with errors that name the field and say what to send.

use std::borrow::Cow;
use std::path::Path;

use rejoin_transcript::SessionId;
use rejoin_transcript::json::Members;

use crate::Error;

/// The params of a request.
pub(crate) struct Params<'a> {
    members: Members<'a>,
}

impl<'a> Params<'a> {
    /// Reads `params`; none at all are an empty object.
    pub(crate) fn read(params: Option<&'a str>) -> Result<Self, Error> {
        let members = Members::read(params.unwrap_or("{}"));
        let members = members.ok_or_else(|| Error::invalid("params", "`params` must be an object"))?;
        Ok(Self { members })
    }

    /// The value of `field` as its text, unless it is left out or null.
    pub(crate) fn get(&self, field: &str) -> Option<&'a str> {
        self.members.get_some(field)
    }

    /// The session that the request is about.
    pub(crate) fn session_id(&self) -> Result<SessionId, Error> {
        let id = self.string("sessionId", "the id of a session")?;
        // An id that we could not have given is one that nobody has.
        SessionId::parse(id.as_ref()).map_err(|_| Error::SessionNotFound { id: id.into_owned() })
    }

    /// The text of `field`; `what` says what to send.
    pub(crate) fn string(&self, field: &str, what: &str) -> Result<Cow<'a, str>, Error> {
        self.optional_string(field, what)?.ok_or_else(|| missing(field, what))
    }

    /// The text of `field`, if it is there.
    pub(crate) fn optional_string(&self, field: &str, what: &str) -> Result<Option<Cow<'a, str>>, Error> {
        let Some(value) = self.get(field) else { return Ok(None) };
        let text = rejoin_transcript::json::read_string(value);
        text.map(Some).ok_or_else(|| wrong_type(field, &format!("a string: {what}"), value))
    }

    /// The absolute path in `field`.
    pub(crate) fn absolute_path(&self, field: &str) -> Result<String, Error> {
        self.optional_absolute_path(field)?.ok_or_else(|| missing(field, "an absolute path"))
    }

    /// The absolute path in `field`, if it is there.
    pub(crate) fn optional_absolute_path(&self, field: &str) -> Result<Option<String>, Error> {
        let path = self.optional_string(field, "an absolute path")?;
        path.map(|path| absolute(field, path.into_owned())).transpose()
    }

    /// The absolute paths in `field`; none if it is left out.
    pub(crate) fn absolute_paths(&self, field: &str) -> Result<Vec<String>, Error> {
        let Some(value) = self.get(field) else { return Ok(Vec::new()) };
        let paths: Vec<String> =
            serde_json::from_str(value).map_err(|_| wrong_type(field, "an array of absolute paths", value))?;
        let at = |index| format!("{field}[{index}]");
        paths.into_iter().enumerate().map(|(index, path)| absolute(&at(index), path)).collect()
    }

    /// The elements of the array `field`, each as its text.
    pub(crate) fn array(&self, field: &str, what: &str) -> Result<Vec<&'a str>, Error> {
        let value = self.get(field).ok_or_else(|| missing(field, what))?;
        let elements: Result<Vec<&serde_json::value::RawValue>, _> = serde_json::from_str(value);
        let elements = elements.map_err(|_| wrong_type(field, what, value))?;
        Ok(elements.into_iter().map(serde_json::value::RawValue::get).collect())
    }

    /// Whether `_meta.rejoin` has the member `name`, and its value. Other forms of `_meta` mean nothing to us.
    pub(crate) fn ours(&self, name: &str) -> Option<&'a str> {
        Members::read(Members::read(self.get("_meta")?)?.get_some("rejoin")?)?.get_some(name)
    }

    /// Fails if the field `older`, which older guides have, is there in place of `field`.
    pub(crate) fn refuse_older(&self, older: &str, field: &str) -> Result<(), Error> {
        if self.get(field).is_none() && self.get(older).is_some() {
            let problem = format!(
                "`{field}` is missing; `{older}` is an older name that the protocol no longer has, send `{field}`"
            );
            return Err(Error::invalid(field, problem));
        }
        Ok(())
    }
}

/// `field` is not there, and `what` should be.
pub(crate) fn missing(field: &str, what: &str) -> Error {
    Error::invalid(field, format!("`{field}` is missing; send {what}"))
}

/// `field` holds `value`, and `what` should be there.
pub(crate) fn wrong_type(field: &str, what: &str, value: &str) -> Error {
    let kind = match value.as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    };
    Error::invalid(field, format!("`{field}` must be {what}; {kind} was sent"))
}

fn absolute(field: &str, path: String) -> Result<String, Error> {
    if path.contains('\0') {
        return Err(Error::invalid(field, format!("`{field}` holds a NUL character; send an absolute path")));
    }
    if Path::new(&path).is_absolute() {
        return Ok(path);
    }
    Err(Error::invalid(field, format!("`{field}` must be an absolute path, and {path:?} is not one")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(params: &str, read: impl Fn(&Params<'_>) -> Result<(), Error>, expected: &str) {
        let told = Params::read(Some(params)).and_then(|params| read(&params)).map_err(|error| error.to_string());
        assert_eq!(told, Err(expected.to_owned()), "{params}");
    }

    #[test]
    fn what_is_wrong_is_named_and_what_to_send_is_said() {
        let cwd = |params: &Params<'_>| params.absolute_path("cwd").map(|_| ());
        check("{}", cwd, "`cwd` is missing; send an absolute path");
        check(r#"{"cwd":null}"#, cwd, "`cwd` is missing; send an absolute path");
        check(r#"{"cwd":[]}"#, cwd, "`cwd` must be a string: an absolute path; an array was sent");
        check(r#"{"cwd":"a/b"}"#, cwd, "`cwd` must be an absolute path, and \"a/b\" is not one");
        let folders = |params: &Params<'_>| params.absolute_paths("dirs").map(|_| ());
        check(r#"{"dirs":["/a","b"]}"#, folders, "`dirs[1]` must be an absolute path, and \"b\" is not one");
        check(r#"{"dirs":7}"#, folders, "`dirs` must be an array of absolute paths; a number was sent");
        check("[]", cwd, "`params` must be an object");
        let older = |params: &Params<'_>| params.refuse_older("mode", "modeId");
        check(
            r#"{"mode":"x"}"#,
            older,
            "`modeId` is missing; `mode` is an older name that the protocol no longer has, send `modeId`",
        );
    }

    #[test]
    fn any_meta_is_taken_and_only_well_formed_keys_act() {
        for meta in ["null", "5", "[]", r#"{"rejoin":5}"#, r#"{"rejoin":null}"#] {
            let text = format!("{{\"_meta\":{meta}}}");
            assert_eq!(Params::read(Some(&text)).unwrap().ours("rebind"), None, "{meta}");
        }
        let text = r#"{"_meta":{"rejoin":{"rebind":true}}}"#;
        assert_eq!(Params::read(Some(text)).unwrap().ours("rebind"), Some("true"));
    }
}
