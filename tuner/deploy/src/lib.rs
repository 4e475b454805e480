//! Nothing but files: `slurm/` and `kubernetes/` start workers of a study on clusters, and the tests check them as the clusters'
//! own programs and schemas would. They are a package of their own so that only who tests them builds Kubernetes' API.
