"""Version v1alpha1 of the API. Changes are additive only: kopf has no conversion webhooks."""
