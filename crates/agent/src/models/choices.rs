//! What the user chooses about how a model answers.

use rejoin::Chosen;

/// The id of the option that holds the temperature.
pub(crate) const TEMPERATURE: &str = "temperature";

/// The id of the option that holds how much the model thinks.
pub(crate) const THINKING: &str = "thinking";

/// How free a model's words are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Temperature {
    Low,
    #[default]
    Medium,
    High,
}

impl Temperature {
    pub(crate) const ALL: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    /// The one that is chosen.
    pub(crate) fn of(chosen: &Chosen) -> Self {
        let find = |id: &str| Self::ALL.into_iter().find(|temperature| temperature.id() == id);
        chosen.get(TEMPERATURE).and_then(find).unwrap_or_default()
    }

    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Low => "Low",
            Self::Medium => "Medium",
            Self::High => "High",
        }
    }

    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Low => "Sober: the likeliest words (0.3).",
            Self::Medium => "Balanced (0.7).",
            Self::High => "Free: less likely words too (1.0).",
        }
    }

    /// As models are told it.
    pub(crate) fn number(self) -> f64 {
        match self {
            Self::Low => 0.3,
            Self::Medium => 0.7,
            Self::High => 1.0,
        }
    }
}

/// How much a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Thinking {
    /// As much as it does by itself.
    #[default]
    Default,
    Low,
    Medium,
    High,
}

impl Thinking {
    pub(crate) const ALL: [Self; 4] = [Self::Default, Self::Low, Self::Medium, Self::High];

    /// The one that is chosen.
    pub(crate) fn of(chosen: &Chosen) -> Self {
        let find = |id: &str| Self::ALL.into_iter().find(|thinking| thinking.id() == id);
        chosen.get(THINKING).and_then(find).unwrap_or_default()
    }

    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// The effort as models are told it; nothing for their own.
    pub(crate) fn effort(self) -> Option<&'static str> {
        match self {
            Self::Default => None,
            Self::Low | Self::Medium | Self::High => Some(self.id()),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Default => "Default",
            Self::Low => "Low",
            Self::Medium => "Medium",
            Self::High => "High",
        }
    }
}
