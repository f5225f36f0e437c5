"""Certificates: proofs in files that `m2bridge.check` accepts without Macaulay2 and without this package."""

from m2bridge.certificates.certificate import Certificate
from m2bridge.certificates.certify import (
    certify_closure,
    certify_dimension,
    certify_fibre,
    certify_groebner,
    certify_membership,
    certify_not_realizable,
    certify_point,
    certify_realizable,
    certify_vanishing,
)
from m2bridge.certificates.recover import recover_weights

__all__ = [
    "Certificate",
    "certify_closure",
    "certify_dimension",
    "certify_fibre",
    "certify_groebner",
    "certify_membership",
    "certify_not_realizable",
    "certify_point",
    "certify_realizable",
    "certify_vanishing",
    "recover_weights",
]
