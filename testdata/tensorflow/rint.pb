
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

RintRintx0*
T0
#
IdentityIdentityRint*
T0"ª