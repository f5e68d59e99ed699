//! JSON as it came: text that is looked into without being rewritten.
//!
//! Parsing into a tree and writing it again loses things (key order, numbers beyond 2^53, `null` versus absent,
//! lone surrogates). So a [`Json`] keeps the text, and everything here reads or splices that text.

mod strings;

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

pub use self::strings::{map_strings, string_end};
use crate::TranscriptError;
use crate::text::Text;

/// One JSON value, kept as the text it arrived as.
///
/// The text is valid JSON on one line: line breaks, which JSON allows only between tokens, are blanks here, so that
/// a value can always be sent as one line.
#[derive(Clone)]
pub struct Json(Text);

impl Json {
    /// Checks that `text` is one JSON value and keeps it.
    pub fn parse(text: impl Into<String>) -> Result<Self, TranscriptError> {
        let text = text.into();
        let value: &RawValue = serde_json::from_str(&text).map_err(TranscriptError::NotJson)?;
        // `RawValue` leaves out the blanks around the value.
        Ok(if value.get().len() == text.len() { Self::one_line(text) } else { Self::one_line(value.get().to_owned()) })
    }

    /// Takes text that was a [`Json`] before it was stored.
    ///
    /// Not checked again: a store guards its bytes with checksums.
    pub fn from_stored(text: String) -> Self {
        Self(Text::Own(text.into_boxed_str()))
    }

    /// Takes texts that were [`Json`]s before they were stored: the parts of `whole`, one behind the other, that end at
    /// `ends`.
    ///
    /// They share one allocation, which is freed with the last of them; a clone has its own.
    pub fn from_stored_parts(whole: String, ends: impl IntoIterator<Item = usize>) -> impl Iterator<Item = Self> {
        let (whole, mut from) = (Arc::new(whole), 0);
        ends.into_iter().map(move |to| Self(Text::part(&whole, std::mem::replace(&mut from, to)..to)))
    }

    /// Writes `value` as JSON.
    ///
    /// Fails when `value` has no JSON form, such as a map whose keys are not strings.
    pub fn from_value(value: &impl Serialize) -> Result<Self, TranscriptError> {
        serde_json::to_string(value).map(Self::from_stored).map_err(TranscriptError::NotJson)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The text, given away.
    pub fn into_string(self) -> String {
        self.0.into_string()
    }

    /// The members, if this is an object that can be read.
    pub fn members(&self) -> Option<Members<'_>> {
        Members::read(self.as_str())
    }

    /// The elements, if this is an array.
    pub fn elements(&self) -> Option<Vec<&str>> {
        let elements: Vec<&RawValue> = serde_json::from_str(self.as_str()).ok()?;
        Some(elements.into_iter().map(RawValue::get).collect())
    }

    fn one_line(mut text: String) -> Self {
        if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
            text = text.replace(['\n', '\r'], " ");
        }
        Self::from_stored(text)
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Json {}

impl Hash for Json {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        Self::one_line(String::from(Box::<str>::from(raw)))
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.as_str()).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Box::<RawValue>::deserialize(deserializer)?.into())
    }
}

/// The members of a JSON object in their order, each value as its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Members<'a>(Vec<(Cow<'a, str>, &'a str)>);

impl<'a> Members<'a> {
    /// Reads the members of the object in `text`; `None` if it is not an object, or a key of it is not text.
    pub fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The value of the member `key`; the last one, should there be several.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// The value of the member `key`, unless it is `null`.
    pub fn get_some(&self, key: &str) -> Option<&'a str> {
        self.get(key).filter(|value| *value != "null")
    }

    /// The text of the string member `key`.
    pub fn get_string(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key).and_then(read_string)
    }

    /// Whether each member's name is one of `names`.
    pub fn are_all_among(&self, names: &[&str]) -> bool {
        self.0.iter().all(|(name, _)| names.contains(&name.as_ref()))
    }

    /// Name and value of each member.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), *value))
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some((Key(name), value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    members.push((name, value.get()));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

/// An object that is written member by member, each value as its text.
#[derive(Debug, Default)]
pub struct Object(String);

impl Object {
    /// The object with the member `name` behind the others.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        push_string(&mut self.0, name);
        self.0.push(':');
        self.0.push_str(value);
        self
    }

    /// The object with the member `name`, a string, behind the others.
    #[must_use]
    pub fn with_string(self, name: &str, text: &str) -> Self {
        let mut object = self.with(name, "");
        push_string(&mut object.0, text);
        object
    }

    /// The object with all members of the object in `text` behind the others.
    #[must_use]
    pub fn with_members_of(self, text: &str) -> Self {
        let members = Members::read(text);
        members.iter().flat_map(Members::iter).fold(self, |object, (name, value)| object.with(name, value))
    }

    /// The object's text.
    pub fn finish(self) -> String {
        if self.0.is_empty() { "{}".to_owned() } else { self.0 + "}" }
    }
}

/// The object in `text` with `value` in place of the member `name`, which it has; the rest stays as it is.
///
/// Should the member be there several times, each is replaced.
pub fn replace_member(text: &str, name: &str, value: &str) -> Option<String> {
    let members = Members::read(text)?;
    let (mut replaced, mut copied) = (String::with_capacity(text.len() + value.len()), 0);
    for (_, old) in members.iter().filter(|(member, _)| *member == name) {
        let at = offset_in(text, old);
        replaced.push_str(&text[copied..at]);
        replaced.push_str(value);
        copied = at + old.len();
    }
    (copied > 0).then(|| replaced + &text[copied..])
}

/// The object in `text` with the member `name` set to `value`: in its place, or behind the others.
pub fn set_member(text: &str, name: &str, value: &str) -> Option<String> {
    if let Some(replaced) = replace_member(text, name, value) {
        return Some(replaced);
    }
    let is_empty = Members::read(text)?.iter().next().is_none();
    let head = text.trim_end().strip_suffix('}')?;
    let comma = if is_empty { "" } else { "," };
    Some(format!("{head}{comma}{}:{value}}}", write_string(name)))
}

/// The object made of the members of `text` whose names are not among `names`; `None` if there is no other.
pub fn other_members(text: &str, names: &[&str]) -> Option<Json> {
    let members = Members::read(text)?;
    let mut others = members.iter().filter(|(name, _)| !names.contains(name)).peekable();
    others.peek()?;
    let object = others.fold(Object::default(), |object, (name, value)| object.with(name, value));
    Some(Json::one_line(object.finish()))
}

/// Where `part`, a slice of `whole`, begins in it.
pub(crate) fn offset_in(whole: &str, part: &str) -> usize {
    part.as_ptr() as usize - whole.as_ptr() as usize
}

/// A member's name, borrowed where it holds no escapes. (`Cow` itself never borrows when deserialized.)
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;

        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member's name")
            }

            fn visit_borrowed_str<E: de::Error>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(name)))
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(name.to_owned())))
            }
        }

        deserializer.deserialize_str(KeyVisitor)
    }
}

/// The text of a JSON string; `None` if `json` is another kind of value.
///
/// A lone surrogate, which JSON can write and text cannot hold, becomes U+FFFD.
pub fn read_string(json: &str) -> Option<Cow<'_, str>> {
    struct Lossy<'a>(Cow<'a, str>);

    impl<'de> Deserialize<'de> for Lossy<'de> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct LossyVisitor;

            impl<'de> Visitor<'de> for LossyVisitor {
                type Value = Lossy<'de>;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a string")
                }

                fn visit_borrowed_bytes<E: de::Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
                    Ok(Lossy(String::from_utf8_lossy(bytes)))
                }

                fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                    Ok(Lossy(Cow::Owned(String::from_utf8_lossy(bytes).into_owned())))
                }
            }

            // As bytes, because only then does the parser let surrogates pass.
            deserializer.deserialize_bytes(LossyVisitor)
        }
    }

    if !json.starts_with('"') {
        return None;
    }
    serde_json::from_str::<Lossy<'_>>(json).ok().map(|Lossy(text)| text)
}

/// A part of a JSON text, as a value of its own.
pub(crate) fn keep(part: &str) -> Json {
    Json::from_stored(part.to_owned())
}

/// `text` as a JSON string.
pub fn write_string(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 2);
    push_string(&mut written, text);
    written
}

/// Writes `text` as a JSON string behind `written`.
pub fn push_string(written: &mut String, text: &str) {
    if text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        written.push_str(&serde_json::Value::from(text).to_string());
    } else {
        written.push('"');
        written.push_str(text);
        written.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_survives_byte_for_byte() {
        for text in [
            r#"{"b":1,"a":null,"n":123456789012345678901234567890,"f":1.0e+400,"e":"é\u00e9\/","s":"\ud800"}"#,
            r#"{ "spaced" : [ 1 , 2 ] , "spaced" : 2 }"#,
            "0.10",
        ] {
            assert_eq!(Json::parse(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn parts_of_one_text_are_values_of_their_own() {
        let parts: Vec<Json> = Json::from_stored_parts("[1]{\"é\":2}3".to_owned(), [3, 11, 12]).collect();
        let alone = ["[1]", "{\"é\":2}", "3"].map(|text| Json::parse(text).unwrap());
        assert_eq!((parts.clone(), parts), (alone.to_vec(), alone.to_vec()));
    }

    #[test]
    fn line_breaks_between_tokens_become_blanks() {
        assert_eq!(Json::parse("\n{\r\n\"a\":\n1}\n").unwrap().as_str(), "{  \"a\": 1}");
    }

    #[test]
    fn what_is_not_one_value_is_refused() {
        for text in ["", "{", "{} {}", "nul", "\"a\nb\"", "[1,]"] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn members_keep_order_and_text() {
        let members = Members::read(r#"{"z":1.50,"\u0061":[ 1 ],"z":null}"#).unwrap();
        assert_eq!(members.iter().collect::<Vec<_>>(), [("z", "1.50"), ("a", "[ 1 ]"), ("z", "null")]);
        assert_eq!((members.get("z"), members.get_some("z"), members.get("q")), (Some("null"), None, None));
    }

    #[test]
    fn deep_nesting_is_kept() {
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        assert_eq!(Json::parse(deep.clone()).unwrap().as_str(), deep);
    }

    #[test]
    fn strings_are_read_with_escapes_and_without_surrogates() {
        assert_eq!(read_string(r#""a\n\u00e9""#).unwrap(), "a\né");
        assert_eq!(read_string(r#""\ud83d\ude00""#).unwrap(), "😀");
        assert!(read_string(r#""x\ud800y""#).unwrap().contains('\u{fffd}'));
        assert_eq!(read_string("12"), None);
    }

    #[test]
    fn a_member_is_replaced_where_it_stands() {
        let text = r#"{"a" : 1.50 ,"b":[null],"a":{}}"#;
        assert_eq!(replace_member(text, "a", "\"x\"").as_deref(), Some(r#"{"a" : "x" ,"b":[null],"a":"x"}"#));
        assert_eq!(replace_member(text, "c", "1"), None);
        assert_eq!(set_member(text, "c", "1").as_deref(), Some(r#"{"a" : 1.50 ,"b":[null],"a":{},"c":1}"#));
        assert_eq!(set_member(" { } ", "c", "1").as_deref(), Some(" { \"c\":1}"));
        assert_eq!(set_member("[]", "c", "1"), None);
    }

    #[test]
    fn an_object_is_written_member_by_member() {
        let object =
            Object::default().with("a", "1.50").with_string("b\"", "x\ny").with_members_of(r#"{"c":null,"d":[]}"#);
        assert_eq!(object.finish(), r#"{"a":1.50,"b\"":"x\ny","c":null,"d":[]}"#);
        assert_eq!(Object::default().finish(), "{}");
    }

    #[test]
    fn the_other_members_stay_as_they_are() {
        let other = |names: &[&str]| other_members(r#"{"a":1.50,"b":null}"#, names);
        assert_eq!(other(&["a"]).unwrap().as_str(), r#"{"b":null}"#);
        assert_eq!(other(&["a", "b"]), None);
    }
}
