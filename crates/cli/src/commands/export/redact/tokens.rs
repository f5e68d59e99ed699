//! The documented forms of tokens: a table, one row for each form.
//!
//! A row says whose tokens they are and where the form is documented. Tokens that have a prefix of their own are found
//! anywhere; others only where they stand, such as in a header or an address.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// A form of tokens.
struct Form {
    /// Whose tokens they are.
    #[cfg_attr(not(test), expect(dead_code, reason = "for those who read the table, and for its test"))]
    whose: &'static str,
    /// The whole token, as a regular expression.
    pattern: &'static str,
}

/// A place where a secret stands.
struct Spot {
    /// What it is.
    #[cfg_attr(not(test), expect(dead_code, reason = "for those who read the table, and for its test"))]
    what: &'static str,
    /// What stands around it, as a regular expression; the group `secret` is the secret.
    pattern: &'static str,
}

const fn form(whose: &'static str, pattern: &'static str) -> Form {
    Form { whose, pattern }
}

const fn spot(what: &'static str, pattern: &'static str) -> Spot {
    Spot { what, pattern }
}

/// Tokens with a prefix of their own.
#[rustfmt::skip]
const FORMS: &[Form] = &[
    // https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/
    form("GitHub", "gh[pousr]_[A-Za-z0-9]{20,}"),
    form("GitHub, fine-grained", "github_pat_[A-Za-z0-9_]{20,}"),
    // https://docs.gitlab.com/security/tokens/#token-prefixes
    form("GitLab", "gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|wt|soat|ffct)-[A-Za-z0-9_.-]{16,}"),
    // https://support.atlassian.com/bitbucket-cloud/docs/app-passwords/, https://id.atlassian.com/manage-profile/security/api-tokens
    form("Atlassian", "AT(?:ATT|CTT|BB|STT)[A-Za-z0-9_=-]{20,}"),
    // https://docs.slack.dev/authentication/tokens
    form("Slack", "xox[abceoprsd][-.][A-Za-z0-9.-]{10,}"),
    form("Slack, app", "xapp-[0-9]-[A-Za-z0-9-]{10,}"),
    // https://discord.com/developers/docs/reference#authentication
    form("Discord, bot", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    // https://core.telegram.org/bots/features#generating-an-authentication-token
    form("Telegram, bot", "[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    // https://developer.hashicorp.com/vault/docs/concepts/tokens#token-prefixes
    form("Vault", r"hv[sbr]\.[A-Za-z0-9_-]{20,}"),
    // https://developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens
    form("Terraform Cloud", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}"),
    // https://shopify.dev/changelog/length-of-the-shopify-access-token-is-increasing
    form("Shopify", "shp(?:at|ca|pa|ss|ua|tka)_[A-Fa-f0-9]{32,}"),
    // https://cloud.google.com/docs/authentication/api-keys
    form("Google, API key", "AIza[A-Za-z0-9_-]{35}"),
    // https://developers.google.com/identity/protocols/oauth2#size
    form("Google, access token", r"ya29\.[A-Za-z0-9_-]{20,}"),
    form("Google, refresh token", "1//0[A-Za-z0-9_-]{30,}"),
    // https://cloud.google.com/docs/authentication/oauth-client-secrets
    form("Google, client secret", "GOCSPX-[A-Za-z0-9_-]{20,}"),
    // https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-prefixes
    form("AWS, key id", "(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    // https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html
    form("AWS, Bedrock", "(?:ABSKQmVkcm9ja|bedrock-api-key-)[A-Za-z0-9+/=]{20,}"),
    // https://learn.microsoft.com/en-us/purview/sit-defn-client-secret-api-key
    form("Azure, client secret", "[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    // https://learn.microsoft.com/en-us/azure/devops/organizations/accounts/use-personal-access-tokens-to-authenticate
    form("Azure DevOps", "[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    // https://docs.stripe.com/keys, https://docs.stripe.com/webhooks#verify-official-libraries
    form("Stripe", "(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}"),
    form("Stripe, webhook", "whsec_[A-Za-z0-9+/=]{20,}"),
    // https://developer.squareup.com/docs/build-basics/access-tokens
    form("Square", "(?:EAAA[A-Za-z0-9_-]{60}|sq0[a-z]{3}-[A-Za-z0-9_-]{22,})"),
    // https://github.blog/changelog/2021-09-23-npm-has-a-new-access-token-format/
    form("npm", "npm_[A-Za-z0-9]{30,}"),
    // https://pypi.org/help/#apitoken
    form("PyPI", "pypi-[A-Za-z0-9_-]{20,}"),
    // https://guides.rubygems.org/api-key-scopes/
    form("RubyGems", "rubygems_[a-f0-9]{40,}"),
    // https://github.com/rust-lang/crates.io/blob/main/crates/crates_io_database/src/models/token.rs
    form("crates.io", "cio[A-Za-z0-9]{32}"),
    // https://learn.microsoft.com/en-us/nuget/nuget-org/scoped-api-keys
    form("NuGet", "oy2[a-z0-9]{43}"),
    // https://docs.docker.com/security/access-tokens/
    form("Docker Hub", "dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    // https://docs.digitalocean.com/reference/api/create-personal-access-token/
    form("DigitalOcean", "do[opr]_v1_[a-f0-9]{20,}"),
    // https://devcenter.heroku.com/changelog-items/3175
    form("Heroku", "HRKU-[A-Za-z0-9_-]{36,}"),
    // https://fly.io/docs/security/tokens/
    form("Fly.io", "(?:FlyV1 )?fm[12][a-z]?_[A-Za-z0-9+/=,_-]{40,}"),
    // https://supabase.com/docs/guides/api/api-keys
    form("Supabase", "(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,})"),
    // https://planetscale.com/docs/concepts/connection-strings, https://planetscale.com/docs/api/reference/service-tokens
    form("PlanetScale", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,}"),
    // https://docs.databricks.com/aws/en/dev-tools/auth/pat
    form("Databricks", "dapi[a-f0-9]{32}(?:-[0-9])?"),
    // https://tailscale.com/kb/1085/auth-keys
    form("Tailscale", "tskey-[a-z]+-[A-Za-z0-9-]{16,}"),
    // https://www.pulumi.com/docs/pulumi-cloud/access-management/access-tokens/
    form("Pulumi", "pul-[a-f0-9]{40}"),
    // https://docs.doppler.com/reference/auth-token-formats
    form("Doppler", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{30,}"),
    // https://developer.1password.com/docs/service-accounts/security/
    form("1Password", "ops_eyJ[A-Za-z0-9_-]{40,}"),
    // https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys
    form("SendGrid", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    // https://documentation.mailgun.com/docs/mailgun/user-manual/api-key-mgmt/rbac-mgmt
    form("Mailgun", "key-[a-f0-9]{32}"),
    // https://mailchimp.com/developer/marketing/guides/quick-start/
    form("Mailchimp", "[a-f0-9]{32}-us[0-9]{1,2}"),
    // https://www.twilio.com/docs/iam/api-keys
    form("Twilio", "SK[a-f0-9]{32}"),
    // https://platform.openai.com/docs/api-reference/authentication, https://docs.anthropic.com/en/api/overview,
    // https://openrouter.ai/docs/api-reference/authentication
    form("OpenAI, Anthropic, OpenRouter and others", "(?:sk|pk|rk|key)[-_][A-Za-z0-9_-]{20,}"),
    // https://console.groq.com/docs/quickstart, https://docs.x.ai/docs/tutorial, https://docs.perplexity.ai/guides/getting-started,
    // https://replicate.com/docs/topics/security/api-tokens
    form("Groq", "gsk_[A-Za-z0-9]{20,}"),
    form("xAI", "xai-[A-Za-z0-9_-]{20,}"),
    form("Perplexity", "pplx-[A-Za-z0-9]{30,}"),
    form("Replicate", "r8_[A-Za-z0-9]{30,}"),
    // https://huggingface.co/docs/hub/security-tokens
    form("Hugging Face", "(?:hf|api_org)_[A-Za-z0-9]{20,}"),
    // https://docs.smith.langchain.com/administration/how_to_guides/organization_management/create_account_api_key
    form("LangSmith", "lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    // https://developers.notion.com/docs/authorization
    form("Notion", "(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})"),
    // https://linear.app/developers/graphql
    form("Linear", "lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    // https://www.figma.com/developers/api#access-tokens
    form("Figma", "fig[dou][a-z]?_[A-Za-z0-9_-]{20,}"),
    // https://airtable.com/developers/web/guides/personal-access-tokens
    form("Airtable", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    // https://grafana.com/docs/grafana/latest/administration/service-accounts/
    form("Grafana", "gl(?:sa|c)_[A-Za-z0-9+/=_]{30,}"),
    // https://docs.sentry.io/account/auth-tokens/
    form("Sentry", "sntry[su]_[A-Za-z0-9+/=_]{30,}"),
    // https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys/
    form("New Relic", "NR(?:AK|II|JS|RA)-[A-Za-z0-9_-]{20,}"),
    // https://circleci.com/docs/managing-api-tokens/, https://buildkite.com/docs/apis/managing-api-tokens
    form("CircleCI", "CCI(?:PAT|PRJ)_[A-Za-z0-9_]{20,}"),
    form("Buildkite", "bk(?:ua|aa|ct)_[A-Za-z0-9]{30,}"),
    // https://developers.facebook.com/docs/facebook-login/guides/access-tokens
    form("Facebook", "EAA[A-Za-z0-9]{60,}"),
    // https://www.dropbox.com/developers/documentation/http/documentation#authorization
    form("Dropbox", r"sl\.(?:u\.)?[A-Za-z0-9_-]{60,}"),
    // https://jfrog.com/help/r/jfrog-platform-administration-documentation/api-key
    form("Artifactory", "AKCp[A-Za-z0-9]{60,}"),
    // https://datatracker.ietf.org/doc/html/rfc7519
    form("JSON web token", r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    // https://age-encryption.org/v1
    form("age", "AGE-SECRET-KEY-1[0-9A-Z]{20,}"),
];

/// Places where a secret of any form stands.
#[rustfmt::skip]
const SPOTS: &[Spot] = &[
    // https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
    spot("Slack, webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9_/-]{10,})"),
    // https://discord.com/developers/docs/resources/webhook
    spot("Discord, webhook", r"discord(?:app)?\.com/api(?:/v[0-9]+)?/webhooks/(?P<secret>[0-9]{5,}/[A-Za-z0-9_-]{20,})"),
    // https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook
    spot("Teams, webhook", r"\.webhook\.office\.com/webhookb2/(?P<secret>[A-Za-z0-9@/-]{20,})"),
    // https://developers.google.com/workspace/chat/quickstart/webhooks
    spot("Google Chat, webhook", r"chat\.googleapis\.com/v1/spaces/(?P<secret>[^\s\x22'<>]{20,})"),
    // https://zapier.com/help/doc/how-get-started-webhooks-zapier
    spot("Zapier, webhook", r"hooks\.zapier\.com/hooks/catch/(?P<secret>[A-Za-z0-9/]{8,})"),
    // https://learn.microsoft.com/en-us/azure/storage/common/storage-sas-overview, and signatures of other addresses:
    // https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
    spot("signature in an address", r"(?i)[?&;\s](?:sig|signature|x-amz-signature|x-goog-signature|x-amz-security-token)=(?P<secret>[A-Za-z0-9%+/=_-]{16,})"),
    // https://learn.microsoft.com/en-us/azure/storage/common/storage-configure-connection-string
    spot("Azure, connection string", r"(?i)\b(?:AccountKey|SharedAccessKey|SharedAccessSignature)\s*=\s*(?P<secret>[^\s;\x22']{16,})"),
    // https://curl.se/docs/manpage.html#-u
    spot("curl, user", r"\bcurl\b[^\n|;&]*?\s(?:-u\s*|--(?:proxy-)?user[\s=]\s*)[\x22']?[^\s:\x22']*:(?P<secret>[^\s\x22']+)"),
    // https://curl.se/docs/manpage.html#-b
    spot("curl, cookie", r"\bcurl\b[^\n|;&]*?\s(?:-b\s*|--cookie[\s=]\s*)[\x22']?(?P<secret>[^\s\x22']*=[^\x22'\n]*)"),
    // https://datatracker.ietf.org/doc/html/rfc6265
    spot("cookie", r"(?i)\b(?:set-)?cookie[\x22'`]?\s*:\s*[\x22'`]?(?P<secret>[A-Za-z0-9_.-]+=[^\n\x22'`]+)"),
    // https://www.gnu.org/software/inetutils/manual/html_node/The-_002enetrc-file.html
    spot("netrc", r"\b(?:machine\s+\S+|default)(?:\s+(?:login|account)\s+\S+)+\s+password\s+(?P<secret>\S+)"),
    // https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
    spot("kubeconfig", r"\b(?:client-key-data|id-token|refresh-token)\s*:\s*[\x22']?(?P<secret>[A-Za-z0-9+/=._-]{8,})"),
    // https://docs.docker.com/reference/cli/docker/login/, https://docs.npmjs.com/cli/v11/configuring-npm/npmrc
    spot("registry log-in", r"(?:[\x22'](?:auth|identitytoken|registrytoken)[\x22']\s*:\s*[\x22']|\b_(?:auth|password)\s*=\s*[\x22']?)(?P<secret>[A-Za-z0-9+/=_.-]{8,})"),
    spot("dockerconfigjson", r"\.dockerconfigjson[\x22']?\s*:\s*[\x22']?(?P<secret>[A-Za-z0-9+/=]{16,})"),
    // https://linux.die.net/man/1/sshpass, https://dev.mysql.com/doc/refman/8.4/en/password-security-user.html,
    // https://redis.io/docs/latest/develop/tools/cli/
    spot("password as an option", r"\b(?:sshpass\s+-p\s*|(?:mysql|mariadb)[a-z]*\b[^\n|;&]*?\s-p|redis-cli\b[^\n|;&]*?\s(?:-a|--pass)\s+|(?:docker|podman|helm)\s+(?:registry\s+)?login\b[^\n|;&]*?\s-p\s*)[\x22']?(?P<secret>[^\s\x22']{4,})"),
    // https://docs.openssl.org/master/man1/openssl-passphrase-options/
    spot("openssl, passphrase", r"\s-pass(?:in|out)?\s+[\x22']?pass:(?P<secret>[^\s\x22']+)"),
    // https://dev.mysql.com/doc/refman/8.4/en/environment-variables.html
    spot("password as a variable", r"\b[A-Z0-9_]+_(?:PWD|PASS)=[\x22']?(?P<secret>[^\s\x22'$]{4,})"),
    // https://man7.org/linux/man-pages/man5/crypt.5.html
    spot("hashed password", r"(?P<secret>\$(?:1|5|6|y|2[abxy]|apr1|argon2id?)\$[A-Za-z0-9./=,$+]{20,})"),
];

/// All that is a token in `text`, by its form or its place.
pub(super) fn find(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let forms = ALL_FORMS.find_iter(text).filter(|found| is_token(found.as_str())).map(|found| found.range());
    let spots = ALL_SPOTS.iter().flat_map(move |spot| spot.captures_iter(text));
    forms.chain(
        spots.filter_map(|found| found.name("secret")).filter(|it| !is_reference(it.as_str())).map(|it| it.range()),
    )
}

/// Whether what has the form of a token is one: words with hyphens between them are not.
fn is_token(found: &str) -> bool {
    let has = |is: fn(&u8) -> bool| found.as_bytes().iter().any(is);
    has(u8::is_ascii_digit) || has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
}

/// Whether a variable stands where a secret would, or what was left of one.
fn is_reference(found: &str) -> bool {
    let is_variable = found.strip_prefix('$').is_some_and(|name| !name.contains('$'));
    is_variable || found.starts_with(['[', '{', '<', '*', '%', '`']) || found.contains("[redacted")
}

#[expect(clippy::expect_used, reason = "a test looks at every one of them")]
fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern should be a regular expression")
}

/// One expression for all: the text is read once.
static ALL_FORMS: LazyLock<Regex> = LazyLock::new(|| {
    let patterns: Vec<&str> = FORMS.iter().map(|form| form.pattern).collect();
    regex(&format!(r"\b(?:{})", patterns.join("|")))
});

static ALL_SPOTS: LazyLock<Vec<Regex>> = LazyLock::new(|| SPOTS.iter().map(|spot| regex(spot.pattern)).collect());

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Filler for sample tokens, joined at run time so that secret scanners don't flag this file.
    fn body(length: usize) -> String {
        "a1B2c3D4e5".chars().cycle().take(length).collect()
    }

    fn hex(length: usize) -> String {
        "0a1b2c3d4e5f".chars().cycle().take(length).collect()
    }

    /// A sample for each row: what stands before the secret, the secret, and what stands behind.
    #[expect(clippy::too_many_lines, reason = "it is a table")]
    fn samples() -> Vec<(&'static str, String, String, &'static str)> {
        let form = |whose, prefix: &str, rest: String| (whose, String::new(), format!("{prefix}{rest}"), "");
        let spot = |what, before: &str, secret: String, behind| (what, before.to_owned(), secret, behind);
        let word = || "hunter2-and-more".to_owned();
        vec![
            form("GitHub", "ghp_", body(36)),
            form("GitHub", "ghs_", body(36)),
            form("GitHub, fine-grained", "github_pat_", format!("{}_{}", body(22), body(59))),
            form("GitLab", "glpat-", body(20)),
            form("GitLab", "glrt-", body(20)),
            form("Atlassian", "ATATT3xFfGF0", body(60)),
            form("Slack", "xoxb-", format!("{}-{}", "123456789012", body(24))),
            form("Slack", "xoxe.xoxp-1-", body(40)),
            form("Slack, app", "xapp-1-A0", body(40)),
            form("Discord, bot", "MT", format!("{}.{}.{}", body(24), body(6), body(38))),
            form("Telegram, bot", "123456789:AA", body(33)),
            form("Vault", "hvs.", body(90)),
            form("Vault", "hvb.", body(90)),
            form("Terraform Cloud", &body(14), format!(".atlasv1.{}", body(67))),
            form("Shopify", "shpat_", hex(32)),
            form("Shopify", "shpss_", hex(32)),
            form("Google, API key", "AIza", body(35)),
            form("Google, access token", "ya29.", body(60)),
            form("Google, refresh token", "1//0", body(60)),
            form("Google, client secret", "GOCSPX-", body(28)),
            form("AWS, key id", "AKIA", "A1B2C3D4E5F6G7H8".to_owned()),
            form("AWS, Bedrock", "ABSKQmVkcm9ja", body(60)),
            form("Azure, client secret", "a1B8", format!("Q~{}", body(34))),
            form("Azure DevOps", &body(76), "AZDOa1b2".to_owned()),
            form("Stripe", "sk_live_", body(24)),
            form("Stripe", "rk_live_", body(24)),
            form("Stripe, webhook", "whsec_", body(32)),
            form("Square", "sq0csp-", body(43)),
            form("npm", "npm_", body(36)),
            form("PyPI", "pypi-", body(120)),
            form("RubyGems", "rubygems_", hex(48)),
            form("crates.io", "cio", body(32)),
            form("NuGet", "oy2", "a1b2c3d4e5".repeat(5)[..43].to_owned()),
            form("Docker Hub", "dckr_pat_", body(27)),
            form("DigitalOcean", "dop_v1_", hex(64)),
            form("Heroku", "HRKU-", body(60)),
            form("Fly.io", "fm2_", body(80)),
            form("Supabase", "sbp_", hex(40)),
            form("PlanetScale", "pscale_tkn_", body(43)),
            form("Databricks", "dapi", hex(32)),
            form("Tailscale", "tskey-auth-", body(30)),
            form("Pulumi", "pul-", hex(40)),
            form("Doppler", "dp.pt.", body(43)),
            form("1Password", "ops_eyJ", body(80)),
            form("SendGrid", "SG.", format!("{}.{}", body(22), body(43))),
            form("Mailgun", "key-", hex(32)),
            form("Mailchimp", &hex(32), "-us12".to_owned()),
            form("Twilio", "SK", hex(32)),
            form("OpenAI, Anthropic, OpenRouter and others", "sk-", body(48)),
            form("OpenAI, Anthropic, OpenRouter and others", "sk-proj-", body(100)),
            form("OpenAI, Anthropic, OpenRouter and others", "sk-ant-api03-", body(90)),
            form("OpenAI, Anthropic, OpenRouter and others", "sk-or-v1-", hex(64)),
            form("Groq", "gsk_", body(52)),
            form("xAI", "xai-", body(80)),
            form("Perplexity", "pplx-", body(48)),
            form("Replicate", "r8_", body(37)),
            form("Hugging Face", "hf_", body(34)),
            form("LangSmith", "lsv2_pt_", format!("{}_{}", hex(32), hex(10))),
            form("Notion", "ntn_", body(46)),
            form("Linear", "lin_api_", body(40)),
            form("Figma", "figd_", body(40)),
            form("Airtable", "pat", format!("{}.{}", body(14), hex(64))),
            form("Grafana", "glsa_", body(41)),
            form("Sentry", "sntrys_", body(80)),
            form("New Relic", "NRAK-", body(27)),
            form("CircleCI", "CCIPAT_", body(60)),
            form("Buildkite", "bkua_", body(40)),
            form("Facebook", "EAA", body(120)),
            form("Dropbox", "sl.", body(130)),
            form("Artifactory", "AKCp", body(69)),
            form("JSON web token", "eyJ", format!("{}.{}.{}", body(20), body(40), body(30))),
            form("age", "AGE-SECRET-KEY-1", "QA2BC3".repeat(9)),
            spot(
                "Slack, webhook",
                "https://hooks.slack.com/services/",
                format!("T0{}/B0{}/{}", body(8), body(8), body(24)),
                "",
            ),
            spot("Discord, webhook", "https://discord.com/api/webhooks/", format!("123456789/{}", body(60)), ""),
            spot(
                "Teams, webhook",
                "https://x.webhook.office.com/webhookb2/",
                format!("{}@{}/IncomingWebhook/{}", hex(36), hex(36), hex(32)),
                "",
            ),
            spot(
                "Google Chat, webhook",
                "https://chat.googleapis.com/v1/spaces/",
                format!("AAAA/messages?key={}&token={}", body(30), body(30)),
                "",
            ),
            spot("Zapier, webhook", "https://hooks.zapier.com/hooks/catch/", format!("1234567/{}/", body(7)), ""),
            spot(
                "signature in an address",
                "https://x.blob.core.windows.net/c/f?sv=2024-01-01&sig=",
                format!("{}%3D", body(43)),
                "&se=2026",
            ),
            spot("signature in an address", "https://b.s3.amazonaws.com/f?X-Amz-Signature=", hex(64), ""),
            spot(
                "Azure, connection string",
                "AccountName=acme;AccountKey=",
                format!("{}==", body(86)),
                ";EndpointSuffix=x",
            ),
            spot("curl, user", "curl -sS -u admin:", word(), " https://host/"),
            spot("curl, user", "curl --user 'admin:", word(), "' https://host/"),
            spot("curl, cookie", "curl -b '", format!("session={}", body(20)), "' https://host/"),
            spot("cookie", "Cookie: ", format!("session={}; theme=dark", body(20)), ""),
            spot("cookie", "Set-Cookie: ", format!("sid={}; Path=/", body(20)), "\nServer: x"),
            spot("netrc", "machine api.example.com login anna password ", word(), "\n"),
            spot("netrc", "machine api.example.com\n  login anna\n  password ", word(), "\n"),
            spot("kubeconfig", "    client-key-data: ", body(200), "\n"),
            spot("registry log-in", r#"{"auths":{"ghcr.io":{"auth":""#, body(24), r#""}}}"#),
            spot("registry log-in", "//registry.npmjs.org/:_auth=", body(24), ""),
            spot("dockerconfigjson", "  .dockerconfigjson: ", body(80), "\n"),
            spot("password as an option", "sshpass -p ", word(), " ssh host"),
            spot("password as an option", "mysql -u root -p", word(), " db"),
            spot("password as an option", "docker login -u anna -p ", word(), " ghcr.io"),
            spot("openssl, passphrase", "openssl rsa -passin pass:", word(), " -in k"),
            spot("password as a variable", "MYSQL_PWD=", word(), " mysql"),
            spot("hashed password", "root:", format!("$6${}${}", body(8), body(60)), ":1"),
            spot("hashed password", "anna:", format!("$2y$10${}", body(53)), ""),
        ]
    }

    #[test]
    fn every_row_has_a_sample_and_finds_it() {
        for (whose, before, secret, behind) in samples() {
            for (left, right) in [("", ""), ("see \"", "\" now"), ("x=", "\n"), ("(", ")")] {
                let text = format!("{left}{before}{secret}{behind}{right}");
                let at = left.len() + before.len();
                let is_found = find(&text).any(|range| range.start <= at && range.end >= at + secret.len());
                assert!(is_found, "{whose}: {text:?} has {:?}", find(&text).map(|it| &text[it]).collect::<Vec<_>>());
            }
        }
        let rows: BTreeSet<&str> =
            FORMS.iter().map(|form| form.whose).chain(SPOTS.iter().map(|spot| spot.what)).collect();
        let sampled: BTreeSet<&str> = samples().into_iter().map(|(whose, ..)| whose).collect();
        assert_eq!(rows, sampled);
    }

    #[test]
    fn what_only_looks_alike_stays() {
        for text in [
            "sk-learn and scikit-learn, task-force, sk-and-a-long-name-of-words-only",
            "key-value-store-implementation-in-rust",
            "npm_config_registry npm_package_name npm_lifecycle_event_of_script",
            "ghp_short xoxb-1 glpat-x hvs.x AKIA AIza eyJ.eyJ",
            "github_pat_… and glpat-<token>",
            "curl -u $USER:$PASSWORD https://host; curl -u anna https://host; curl -sSL https://host",
            "Cookie: consent is needed; a cookie: sweet",
            "the machine has a password prompt; machine learning default password policy",
            "https://hooks.slack.com/services/ and https://discord.com/api/webhooks/",
            "https://host/?sig=short&signature=none",
            "\"auth\": \"none\", _auth = x",
            "mysql -p db; mysql -u root -p; docker login -u anna --password-stdin; mkdir -p some/folder; cp -pr a b",
            "costs $5 to $60, $1 and $2, $6$",
            "0c5f2a91d34b4e7f8a9b0c1d2e3f4a5b 550e8400-e29b-41d4-a716-446655440000",
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "patience. pattern.matching cioran oy2 dapi SKU12345 EAAAAA slow. r8_x",
            "toolu_01A09q90qw90lq917835lq9 call_a1B2c3D4e5 msg_01XFDUDYJgAACzvnptvVoYEL",
        ] {
            assert_eq!(find(text).map(|it| &text[it]).collect::<Vec<_>>(), Vec::<&str>::new(), "{text}");
        }
    }
}
