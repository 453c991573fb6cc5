
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

AtanAtanx0*
T0
#
IdentityIdentityAtan*
T0"ª