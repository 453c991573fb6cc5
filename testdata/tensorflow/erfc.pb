
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

ErfcErfcx0*
T0
#
IdentityIdentityErfc*
T0"ª