
Y
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:
7
SqueezeSqueezex0*
T0*
squeeze_dims

&
IdentityIdentitySqueeze*
T0"ª