//! Reading the params of requests.

use agent_client_protocol_schema::v1::SessionId;
use rejoin_wire::{RawValue, RpcError};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The params of `session/set_model`, which the schema no longer has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetModel {
    pub(super) session_id: SessionId,
    pub(super) model_id: String,
}

/// Reads `params`.
pub(super) fn read<T: DeserializeOwned>(params: Option<&RawValue>) -> Result<T, RpcError> {
    let text = params.map_or("{}", RawValue::get);
    serde_json::from_str(text).map_err(|error| RpcError::new(RpcError::INVALID_PARAMS, error.to_string()))
}
