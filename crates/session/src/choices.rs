//! Modes, models and config options: what may be chosen, what is chosen, and how the three are kept in step.
//!
//! An agent may offer one thing twice: as `modes` and as an option of the category `mode`, as `models` and as an option
//! of the category `model`. Whoever sets one of the two sets both.

use rejoin_transcript::json::{Members, Object, read_string, set_member, write_string};
use rejoin_transcript::{InForce, Json, Settings};
use serde_json::value::RawValue;

use crate::Error;
use crate::capabilities::Shows;

/// One thing that a client, or a restore, chooses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    /// A mode, by its id.
    Mode(String),
    /// A model, by its id.
    Model(String),
    /// A value of a config option, by the option's id.
    Option(String, Json),
}

impl Choice {
    /// What comes into force with it, in step; an error that names the field, if it can't be chosen.
    pub(crate) fn check(&self, settings: &Settings) -> Result<InForce, Error> {
        let mut set = InForce::default();
        match self {
            Self::Mode(mode) => {
                let known = ids(settings.modes.as_ref(), "availableModes", "id");
                let option = linked(settings, "mode");
                must_be_among("modeId", mode, known.or_else(|| option.as_ref().map(ConfigOption::values)))?;
                set.mode = Some(mode.clone());
                put(&mut set, option, mode);
            }
            Self::Model(model) => {
                let known = ids(settings.models.as_ref(), "availableModels", "modelId");
                let option = linked(settings, "model");
                must_be_among("modelId", model, known.or_else(|| option.as_ref().map(ConfigOption::values)))?;
                set.model = Some(model.clone());
                put(&mut set, option, model);
            }
            Self::Option(id, value) => {
                let options = config_options(settings);
                let Some(option) = options.iter().find(|option| option.id == *id) else {
                    let known = options.into_iter().map(|option| option.id).collect();
                    return must_be_among("configId", id, Some(known)).map(|()| set);
                };
                option.check(value)?;
                set.options.insert(id.clone(), value.clone());
                let text = read_string(value.as_str());
                for (name, field) in [("mode", &mut set.mode), ("model", &mut set.model)] {
                    if linked(settings, name).is_some_and(|linked| linked.id == *id) {
                        *field = text.as_deref().filter(|text| may_be(settings, name, text)).map(str::to_owned);
                    }
                }
            }
        }
        Ok(set)
    }
}

/// What must be set besides so that all is in step, after the agent itself has changed modes or options.
pub(crate) fn in_step(before: &InForce, settings: &Settings) -> Option<InForce> {
    let (now, mut set) = (&settings.in_force, InForce::default());
    for (name, was, is) in [("mode", &before.mode, &now.mode), ("model", &before.model, &now.model)] {
        let Some(option) = linked(settings, name) else { continue };
        let value = now.options.get(&option.id);
        let text = value.and_then(|value| read_string(value.as_str()));
        if text.as_deref() == is.as_deref() {
            continue;
        }
        if was != is {
            put(&mut set, Some(option), is.as_deref().unwrap_or_default());
        } else if before.options.get(&option.id) != value {
            let field = if name == "mode" { &mut set.mode } else { &mut set.model };
            *field = text.filter(|text| may_be(settings, name, text)).map(std::borrow::Cow::into_owned);
        }
    }
    (set != InForce::default()).then_some(set)
}

/// The settings that an agent told when it set up a session: what it offers, and what is in force.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Setup {
    pub(crate) modes: Option<Json>,
    pub(crate) models: Option<Json>,
    pub(crate) config_options: Option<Json>,
}

impl Setup {
    /// Reads the result of `session/new`, `load`, `resume` or `fork`.
    pub(crate) fn read(result: &str) -> Self {
        let members = Members::read(result);
        let object = |name| members.as_ref()?.get_some(name).map(|value| Json::from_stored(value.to_owned()));
        Self { modes: object("modes"), models: object("models"), config_options: object("configOptions") }
    }

    /// What is in force by it.
    pub(crate) fn in_force(&self) -> InForce {
        let text = |object: &Option<Json>, name| Some(object.as_ref()?.members()?.get_string(name)?.into_owned());
        let settings = Settings { config_options: self.config_options.clone(), ..Settings::default() };
        let options = config_options(&settings).into_iter();
        InForce {
            mode: text(&self.modes, "currentModeId"),
            model: text(&self.models, "currentModelId"),
            options: options.filter_map(|option| Some((option.id, option.current?))).collect(),
        }
    }
}

/// `result` with the members `modes`, `models` and `configOptions`, as they are in force.
pub(crate) fn with_setup(mut result: Object, settings: &Settings, shows: Shows) -> Object {
    let current = |object: &Json, member, name, id: &Option<String>| {
        let id = id.as_ref().filter(|id| may_be(settings, name, id));
        let current = id.and_then(|id| set_member(object.as_str(), member, &write_string(id)));
        current.unwrap_or_else(|| object.as_str().to_owned())
    };
    if let Some(modes) = &settings.modes {
        result = result.with("modes", &current(modes, "currentModeId", "mode", &settings.in_force.mode));
    }
    if let Some(models) = &settings.models {
        result = result.with("models", &current(models, "currentModelId", "model", &settings.in_force.model));
    }
    if let Some(options) = options_in_force(settings, shows) {
        result = result.with("configOptions", &options);
    }
    result
}

/// All config options, as they are in force.
pub(crate) fn options_in_force(settings: &Settings, shows: Shows) -> Option<String> {
    settings.config_options.as_ref()?;
    let options = config_options(settings).into_iter().filter(|option| shows.boolean_options || !option.is_boolean);
    let text = options.map(|option| match settings.in_force.options.get(&option.id) {
        Some(value) => {
            set_member(option.json, "currentValue", value.as_str()).unwrap_or_else(|| option.json.to_owned())
        }
        None => option.json.to_owned(),
    });
    Some(format!("[{}]", text.collect::<Vec<_>>().join(",")))
}

/// The options in `options` that a client without boolean ones is shown; `None` if that is all of them.
pub(crate) fn without_booleans(options: &str) -> Option<String> {
    let settings = Settings { config_options: Some(Json::from_stored(options.to_owned())), ..Settings::default() };
    let (all, shown) = (config_options(&settings).len(), options_in_force(&settings, Shows::default())?);
    let elements: Vec<&RawValue> = serde_json::from_str(&shown).ok()?;
    (elements.len() < all).then_some(shown)
}

/// What is in force in a session, as far as its agent offered it when it last told.
pub(crate) fn offered_in(settings: &Settings) -> InForce {
    let InForce { mode, model, mut options } = settings.in_force.clone();
    let is_offered = |name, list: &Option<Json>| list.is_some() || linked(settings, name).is_some();
    let offered: Vec<String> = config_options(settings).into_iter().map(|option| option.id).collect();
    options.retain(|id, _| offered.contains(id));
    InForce {
        mode: mode.filter(|_| is_offered("mode", &settings.modes)),
        model: model.filter(|_| is_offered("model", &settings.models)),
        options,
    }
}

/// The choices that bring an agent, which offers `settings` and in which `agent` is in force, to `wanted`; and those
/// that it does not offer.
///
/// What others may depend on comes first: a model has its own options.
pub(crate) fn to_reapply(wanted: &InForce, agent: &InForce, settings: &Settings) -> (Vec<Choice>, Vec<Choice>) {
    let (mut choices, mut lost) = (Vec::new(), Vec::new());
    let mut want = |choice: Choice| match choice.check(settings) {
        Ok(_) => choices.push(choice),
        Err(_) => lost.push(choice),
    };
    let mut rest: Vec<(&String, &Json)> =
        wanted.options.iter().filter(|(id, value)| agent.options.get(*id) != Some(value)).collect();
    for (name, id, current, list) in
        [("model", &wanted.model, &agent.model, &settings.models), ("mode", &wanted.mode, &agent.mode, &settings.modes)]
    {
        let option = linked(settings, name).map(|option| option.id);
        // What is wanted of the option says the same, and the option's values need not be the ids.
        let is_said_twice = option.as_ref().is_some_and(|option| wanted.options.contains_key(option));
        if let Some(id) = id.as_ref().filter(|id| current.as_ref() != Some(id))
            && (!is_said_twice || list.is_some() && may_be(settings, name, id))
        {
            want(if name == "mode" { Choice::Mode(id.clone()) } else { Choice::Model(id.clone()) });
        }
        if let Some(at) = rest.iter().position(|(id, _)| Some(*id) == option.as_ref()) {
            let (id, value) = rest.remove(at);
            want(Choice::Option(id.clone(), value.clone()));
        }
    }
    for (id, value) in rest {
        want(Choice::Option(id.clone(), value.clone()));
    }
    (choices, lost)
}

/// Whether the agent that a session is restored in is the one that it was in before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RestoredIn {
    /// The same agent, perhaps in another version.
    SameAgent,
    /// Another agent, with settings of its own.
    OtherAgent,
}

/// Those of `missing` that a person would miss: choices of a session with the settings `before` that its agent could not
/// be brought to.
///
/// Models and options are missed in the agent that had them; another agent has its own. A mode is missed there too, because
/// it says what the agent may do, unless it is the first that was offered, in which sessions begin. What another choice
/// says too is not told twice.
pub(crate) fn missed(missing: Vec<Choice>, before: &Settings, agent: RestoredIn) -> Vec<Choice> {
    let is_linked = |name, id: &str| linked(before, name).is_some_and(|option| option.id == id);
    let has_mode = missing.iter().any(|choice| matches!(choice, Choice::Mode(_)));
    let has_model = missing.iter().any(|choice| matches!(choice, Choice::Model(_)));
    let is_same = agent == RestoredIn::SameAgent;
    let offered = ids(before.modes.as_ref(), "availableModes", "id");
    let offered = offered.or_else(|| linked(before, "mode").map(|option| option.values)).unwrap_or_default();
    let is_mode_missed = |mode: &str| is_same || offered.first().is_some_and(|first| first != mode);
    let is_missed = |choice: &Choice| match choice {
        Choice::Mode(mode) => is_mode_missed(mode),
        Choice::Option(id, value) if is_linked("mode", id) => {
            !has_mode && read_string(value.as_str()).is_none_or(|value| is_mode_missed(&value))
        }
        Choice::Option(id, _) if is_linked("model", id) => is_same && !has_model,
        Choice::Model(_) | Choice::Option(..) => is_same,
    };
    missing.into_iter().filter(is_missed).collect()
}

/// The choices that bring an agent, which offers `settings`, to something that it offers, where `agent` is in force and
/// was offered in `before`, but is not any more. What never was may be somebody's own.
pub(crate) fn fallbacks(agent: &InForce, settings: &Settings, before: &Settings) -> Vec<Choice> {
    let is_lost = |choice: &Choice| choice.check(before).is_ok() && choice.check(settings).is_err();
    let options = config_options(settings).into_iter().filter_map(|option| {
        let first = Json::from_stored(write_string(option.values.first()?));
        let current = Choice::Option(option.id.clone(), agent.options.get(&option.id)?.clone());
        is_lost(&current).then_some(Choice::Option(option.id, first))
    });
    let first = |make: fn(String) -> Choice, current: &Option<String>, known: Option<Vec<String>>| {
        let (current, first) = (make(current.clone()?), make(known?.into_iter().next()?));
        is_lost(&current).then_some(first)
    };
    let model = first(Choice::Model, &agent.model, ids(settings.models.as_ref(), "availableModels", "modelId"));
    let mode = first(Choice::Mode, &agent.mode, ids(settings.modes.as_ref(), "availableModes", "id"));
    options.chain(model).chain(mode).collect()
}

/// A config option, as far as it matters here.
struct ConfigOption<'a> {
    id: String,
    category: Option<String>,
    is_boolean: bool,
    current: Option<Json>,
    /// The values of a select, flat or in groups.
    values: Vec<String>,
    json: &'a str,
}

impl ConfigOption<'_> {
    fn values(&self) -> Vec<String> {
        self.values.clone()
    }

    fn check(&self, value: &Json) -> Result<(), Error> {
        if self.is_boolean {
            if matches!(value.as_str(), "true" | "false") {
                return Ok(());
            }
            let problem = format!("`value` must be true or false for the `configId` {:?}", self.id);
            return Err(Error::invalid("value", problem));
        }
        let Some(text) = read_string(value.as_str()) else {
            let problem = format!("`value` must be a string for the `configId` {:?}", self.id);
            return Err(Error::invalid("value", problem));
        };
        must_be_among("value", &text, Some(self.values()))
    }
}

fn config_options(settings: &Settings) -> Vec<ConfigOption<'_>> {
    let Some(options) = &settings.config_options else { return Vec::new() };
    options.elements().unwrap_or_default().into_iter().filter_map(read_option).collect()
}

fn read_option(json: &str) -> Option<ConfigOption<'_>> {
    let members = Members::read(json)?;
    let mut values = Vec::new();
    collect_values(members.get_some("options"), &mut values);
    Some(ConfigOption {
        id: members.get_string("id")?.into_owned(),
        category: members.get_string("category").map(std::borrow::Cow::into_owned),
        is_boolean: members.get_string("type").as_deref() == Some("boolean"),
        current: members.get_some("currentValue").map(|value| Json::from_stored(value.to_owned())),
        values,
        json,
    })
}

fn collect_values(options: Option<&str>, values: &mut Vec<String>) {
    let elements: Vec<&RawValue> = options.and_then(|options| serde_json::from_str(options).ok()).unwrap_or_default();
    for element in elements {
        let Some(members) = Members::read(element.get()) else { continue };
        match members.get_string("value") {
            Some(value) => values.push(value.into_owned()),
            None => collect_values(members.get_some("options"), values),
        }
    }
}

/// The option that offers the same as `modes` or `models`: by its category, or else by its id.
fn linked<'a>(settings: &'a Settings, name: &str) -> Option<ConfigOption<'a>> {
    let mut options = config_options(settings);
    options.retain(|option| !option.is_boolean);
    let by_category = options.iter().position(|option| option.category.as_deref() == Some(name));
    let by_id = || options.iter().position(|option| option.category.is_none() && option.id == name);
    by_category.or_else(by_id).map(|at| options.swap_remove(at))
}

/// Puts `value` into `set` for `option`, if it has that value.
fn put(set: &mut InForce, option: Option<ConfigOption<'_>>, value: &str) {
    if let Some(option) = option
        && option.values.iter().any(|known| known == value)
    {
        set.options.insert(option.id, Json::from_stored(write_string(value)));
    }
}

/// Whether `id` can be the current mode or model: where they are listed, one of the list. An option that offers the same
/// may have other values.
fn may_be(settings: &Settings, name: &str, id: &str) -> bool {
    let known = match name {
        "mode" => ids(settings.modes.as_ref(), "availableModes", "id"),
        _ => ids(settings.models.as_ref(), "availableModels", "modelId"),
    };
    known.is_none_or(|known| known.iter().any(|one| one == id))
}

fn ids(object: Option<&Json>, list: &str, id: &str) -> Option<Vec<String>> {
    let members = object?.members()?;
    let elements: Vec<&RawValue> = serde_json::from_str(members.get_some(list)?).ok()?;
    let read = |element: &&RawValue| Some(Members::read(element.get())?.get_string(id)?.into_owned());
    Some(elements.iter().filter_map(read).collect())
}

fn must_be_among(field: &str, value: &str, known: Option<Vec<String>>) -> Result<(), Error> {
    let known = known.unwrap_or_default();
    if known.iter().any(|one| one == value) {
        return Ok(());
    }
    let problem = match known.as_slice() {
        [] => format!("`{field}` can't be {value:?}: the agent offers nothing to choose from here"),
        known => format!("`{field}` can't be {value:?}; it is one of {}", known.join(", ")),
    };
    Err(Error::invalid(field, problem))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const OPTIONS: &str = r#"[{"id":"m","category":"model","type":"select","currentValue":"m1","options":[{"value":"m1","name":"1"},{"value":"m2","name":"2"}]},{"id":"mode","type":"select","currentValue":"ask","options":[{"group":"g","name":"G","options":[{"value":"ask","name":"A"},{"value":"code","name":"C"}]}]},{"id":"fast","type":"boolean","currentValue":false}]"#;

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    fn settings() -> Settings {
        let setup = Setup {
            modes: Some(json(r#"{"currentModeId":"ask","availableModes":[{"id":"ask"},{"id":"code"}]}"#)),
            models: Some(json(r#"{"currentModelId":"m1","availableModels":[{"modelId":"m1"},{"modelId":"m2"}]}"#)),
            config_options: Some(json(OPTIONS)),
        };
        let in_force = setup.in_force();
        let Setup { modes, models, config_options } = setup;
        Settings { modes, models, config_options, in_force, ..Settings::default() }
    }

    fn in_force(mode: Option<&str>, model: Option<&str>, options: &[(&str, &str)]) -> InForce {
        let options: BTreeMap<String, Json> =
            options.iter().map(|(id, value)| ((*id).to_owned(), json(value))).collect();
        InForce { mode: mode.map(str::to_owned), model: model.map(str::to_owned), options }
    }

    #[test]
    fn a_choice_sets_what_is_linked_with_it() {
        let check = |choice: Choice, expected| assert_eq!(choice.check(&settings()).unwrap(), expected);
        check(Choice::Mode("code".to_owned()), in_force(Some("code"), None, &[("mode", "\"code\"")]));
        check(Choice::Model("m2".to_owned()), in_force(None, Some("m2"), &[("m", "\"m2\"")]));
        check(Choice::Option("m".to_owned(), json("\"m2\"")), in_force(None, Some("m2"), &[("m", "\"m2\"")]));
        check(Choice::Option("fast".to_owned(), json("true")), in_force(None, None, &[("fast", "true")]));
    }

    #[test]
    fn an_agent_falls_back_from_what_it_no_longer_offers_and_from_nothing_else() {
        let now = Settings {
            models: Some(json(r#"{"currentModelId":"m2","availableModels":[{"modelId":"m1"},{"modelId":"m3"}]}"#)),
            config_options: Some(json(&OPTIONS.replace("m2", "m3"))),
            ..settings()
        };
        let check = |agent: InForce, expected: &[Choice]| assert_eq!(fallbacks(&agent, &now, &settings()), expected);
        let lost = in_force(Some("ask"), Some("m2"), &[("m", "\"m2\""), ("mode", "\"ask\""), ("fast", "false")]);
        check(lost, &[Choice::Option("m".to_owned(), json("\"m1\"")), Choice::Model("m1".to_owned())]);
        check(in_force(Some("own"), Some("own"), &[("m", "\"own\""), ("x", "\"m2\"")]), &[]);
    }

    #[test]
    fn what_is_not_offered_is_refused_by_name() {
        let check = |choice: Choice, expected: &str| {
            assert_eq!(choice.check(&settings()).unwrap_err().to_string(), expected);
        };
        check(Choice::Mode("x".to_owned()), "`modeId` can't be \"x\"; it is one of ask, code");
        check(Choice::Model("x".to_owned()), "`modelId` can't be \"x\"; it is one of m1, m2");
        check(Choice::Option("x".to_owned(), json("1")), "`configId` can't be \"x\"; it is one of m, mode, fast");
        check(Choice::Option("m".to_owned(), json("\"x\"")), "`value` can't be \"x\"; it is one of m1, m2");
        check(Choice::Option("m".to_owned(), json("7")), "`value` must be a string for the `configId` \"m\"");
        check(
            Choice::Option("fast".to_owned(), json("\"x\"")),
            "`value` must be true or false for the `configId` \"fast\"",
        );
        let nothing = Choice::Mode("x".to_owned()).check(&Settings::default()).unwrap_err();
        assert_eq!(nothing.to_string(), "`modeId` can't be \"x\": the agent offers nothing to choose from here");
    }

    #[test]
    fn what_the_agent_changes_takes_along_what_is_linked() {
        let before = settings().in_force;
        let mut changed = settings();
        changed.in_force.mode = Some("code".to_owned());
        assert_eq!(in_step(&before, &changed), Some(in_force(None, None, &[("mode", "\"code\"")])));
        let mut changed = settings();
        changed.in_force.options.insert("m".to_owned(), json("\"m2\""));
        assert_eq!(in_step(&before, &changed), Some(in_force(None, Some("m2"), &[])));
        assert_eq!(in_step(&before, &settings()), None);
    }

    #[test]
    fn results_show_what_is_in_force() {
        let mut settings = settings();
        settings.in_force = in_force(Some("code"), Some("m2"), &[("m", "\"m2\""), ("fast", "true")]);
        let told = with_setup(Object::default(), &settings, Shows::default()).finish();
        assert!(told.contains(r#""currentModeId":"code""#) && told.contains(r#""currentModelId":"m2""#), "{told}");
        assert!(told.contains(r#""currentValue":"m2""#) && !told.contains("boolean"), "{told}");
        let shows = Shows { boolean_options: true, ..Shows::default() };
        assert!(
            with_setup(Object::default(), &settings, shows)
                .finish()
                .contains(r#""type":"boolean","currentValue":true"#)
        );
    }

    #[test]
    fn booleans_are_left_out_for_clients_without_them() {
        assert!(!without_booleans(OPTIONS).unwrap().contains("boolean"));
        assert_eq!(without_booleans(r#"[{"id":"a","type":"select"}]"#), None);
    }

    fn option(id: &str, value: &str) -> Choice {
        Choice::Option(id.to_owned(), json(value))
    }

    #[test]
    fn a_restored_agent_is_brought_to_what_is_in_force() {
        let wanted = in_force(Some("code"), Some("gone"), &[("fast", "true"), ("old", "1")]);
        let (choices, lost) = to_reapply(&wanted, &settings().in_force, &settings());
        assert_eq!(choices, [Choice::Mode("code".to_owned()), option("fast", "true")]);
        assert_eq!(lost, [Choice::Model("gone".to_owned()), option("old", "1")]);
    }

    #[test]
    fn the_model_is_chosen_before_what_may_depend_on_it() {
        let wanted = in_force(Some("code"), Some("m2"), &[("fast", "true"), ("m", "\"m2\""), ("mode", "\"code\"")]);
        let (choices, lost) = to_reapply(&wanted, &settings().in_force, &settings());
        let expected = [
            Choice::Model("m2".to_owned()),
            option("m", "\"m2\""),
            Choice::Mode("code".to_owned()),
            option("mode", "\"code\""),
            option("fast", "true"),
        ];
        assert_eq!((choices, lost), (expected.to_vec(), Vec::new()));
    }

    #[test]
    fn only_what_a_person_would_miss_is_told() {
        let (mode, model) = (Choice::Mode("plan".to_owned()), Choice::Model("gone".to_owned()));
        let all = || {
            vec![
                mode.clone(),
                model.clone(),
                option("mode", "\"plan\""),
                option("m", "\"gone\""),
                option("fast", "true"),
                option("old", "1"),
            ]
        };
        let check = |missing, agent, expected: &[Choice]| {
            assert_eq!(missed(missing, &settings(), agent), expected);
        };
        let same = [mode.clone(), model.clone(), option("fast", "true"), option("old", "1")];
        check(all(), RestoredIn::SameAgent, &same);
        check(all(), RestoredIn::OtherAgent, std::slice::from_ref(&mode));
        let options = || vec![option("mode", "\"plan\""), option("m", "\"gone\"")];
        check(options(), RestoredIn::SameAgent, &options());
        check(options(), RestoredIn::OtherAgent, &options()[..1]);
        let first = || vec![Choice::Mode("ask".to_owned()), option("mode", "\"ask\"")];
        check(first(), RestoredIn::SameAgent, &first()[..1]);
        check(first(), RestoredIn::OtherAgent, &[]);
    }

    #[test]
    fn what_the_agent_did_not_offer_any_more_is_not_wanted_back() {
        let mut settings = settings();
        settings.models = None;
        settings.config_options = Some(json(r#"[{"id":"fast","type":"boolean","currentValue":false}]"#));
        settings.in_force = in_force(Some("code"), Some("m2"), &[("fast", "true"), ("old", "1")]);
        assert_eq!(offered_in(&settings), in_force(Some("code"), None, &[("fast", "true")]));
    }

    #[test]
    fn an_option_whose_values_are_no_ids_of_models_says_nothing_of_the_current_model() {
        let mut settings = settings();
        let models = r#"{"currentModelId":"m1[low]","availableModels":[{"modelId":"m1[low]"},{"modelId":"m2[low]"}]}"#;
        settings.models = Some(json(models));
        settings.in_force.model = Some("m1[low]".to_owned());
        let set = option("m", "\"m2\"").check(&settings).unwrap();
        assert_eq!(set, in_force(None, None, &[("m", "\"m2\"")]));
        let before = settings.in_force.clone();
        settings.in_force.options.extend(set.options);
        assert_eq!(in_step(&before, &settings), None);
        settings.in_force.model = Some("m2".to_owned());
        let told = with_setup(Object::default(), &settings, Shows::default()).finish();
        assert!(told.contains(r#""currentModelId":"m1[low]""#), "{told}");
        let (choices, lost) = to_reapply(&settings.in_force, &before, &settings);
        assert_eq!((choices, lost), (vec![option("m", "\"m2\"")], Vec::new()));
    }
}
