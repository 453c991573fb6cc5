
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

ExpExpx0*
T0
"
IdentityIdentityExp*
T0"ª