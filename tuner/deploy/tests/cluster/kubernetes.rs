//! The manifests by the types of Kubernetes' API.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use serde_json::Value;

use crate::files;

/// Refuses what the API of its kind does not know: such a field is not read, so that it does not come back either.
fn check(manifest: &str) -> Result<(), String> {
    let written: Value = serde_norway::from_str(manifest).map_err(|error| error.to_string())?;
    let text = |error: serde_json::Error| error.to_string();
    let read = match written["kind"].as_str() {
        Some("Job") => serde_json::from_value::<Job>(written.clone()).and_then(serde_json::to_value).map_err(text)?,
        Some("PersistentVolumeClaim") => serde_json::from_value::<PersistentVolumeClaim>(written.clone())
            .and_then(serde_json::to_value)
            .map_err(text)?,
        other => return Err(format!("a manifest of kind {other:?}")),
    };
    if read == written { Ok(()) } else { Err(format!("written:\n{written:#}\nread:\n{read:#}")) }
}

#[test]
fn every_field_of_every_manifest_is_one_of_the_api() {
    for (path, text) in files("kubernetes", ".yaml") {
        check(&text).unwrap_or_else(|reason| panic!("{}: {reason}", path.display()));
    }
}

#[test]
fn a_misspelt_field_a_wrong_type_and_a_wrong_value_are_found() {
    let (_, manifest) = files("kubernetes", "work.yaml").remove(0);
    let changes = [
        ("parallelism: 8", "paralelism: 8"),
        ("secretKeyRef:", "secretKeyref:"),
        ("nvidia.com/gpu: \"1\"", "nvidia.com/gpu: 1"),
        ("restartPolicy: Never", "restartPolicy: [Never]"),
        ("claimName:", "claim:"),
    ];
    for (right, wrong) in changes {
        assert!(manifest.contains(right), "{right}");
        assert!(check(&manifest.replace(right, wrong)).is_err(), "{wrong} is not found");
    }
}

#[test]
fn the_url_of_the_study_comes_from_a_secret_and_stands_in_no_command() {
    for (path, text) in files("kubernetes", ".yaml") {
        let Ok(job) = serde_norway::from_str::<Job>(&text) else { continue };
        let pod = job.spec.unwrap().template.spec.unwrap();
        let [container] = pod.containers.as_slice() else { panic!("{}: not one container", path.display()) };
        let [variable] = container.env.as_deref().unwrap() else { panic!("{}: not one variable", path.display()) };
        let from = variable.value_from.as_ref().and_then(|from| from.secret_key_ref.as_ref()).unwrap();
        assert_eq!(
            (variable.name.as_str(), from.name.as_str(), from.key.as_str()),
            ("STUDY", "autokernel-study", "url")
        );
        assert!(variable.value.is_none());
        assert!(!container.args.as_ref().unwrap().iter().any(|word| word.contains("://")), "{}", path.display());
        // What the pods of both jobs share.
        let claim = pod.volumes.unwrap().into_iter().find_map(|volume| volume.persistent_volume_claim).unwrap();
        assert_eq!(claim.claim_name, "autokernel-kernels");
    }
}
